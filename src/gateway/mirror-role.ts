import { ErrorCode, errorName } from '../../protocol/errors.ts';
import { mapProducerIdInPlace } from '../../protocol/records/ids.ts';
import { produceApi } from '../../protocol/schema/00-produce.ts';
import { judgeWrite, publishRefusal, type Refusal } from './guard.ts';
import { type Granted, judgeCopied } from './mirror-judge.ts';
import { lanesFor } from './mirror-lanes.ts';
import { settleAll } from './mirror-settle.ts';
import type { NodeMap } from './node-map.ts';
import type { MirrorRolePort } from './ports.ts';
import {
  isUntouched,
  isWholeRefused,
  mergedResponse,
  type OwnAnswer,
  type OwnAnswers,
  ownResponse,
  withoutOwn,
} from './produce-split.ts';
import type { ProduceShape } from './produce-walk.ts';
import type { ApiRule, ReplyHandler, RequestSeen, Verdict } from './rule.ts';
import { badFrame, closeFor, produceRule, shapeOf, topicName, unknownIds } from './rules/produce.ts';
import { whenLoaded } from './rules/common.ts';

/**
 * Produce on a `role: mirror` gateway (DESIGN section 7): a foreign copier writes the mirror's partitions. Producer
 * ids are mapped and the CRC patched in the request's own bytes; each partition has one Produce in progress, whose base
 * offset must be the expected one; what can't be proven makes the partition FAILED. Partitions of no mirror, and of
 * others, are treated as on a client gateway.
 */
export const mirrorProduceRule: ApiRule = {
  ...produceRule,
  request: {
    from: 0,
    largest: Number.POSITIVE_INFINITY,
    run: (request) => whenLoaded(request.view, () => run(request)),
  },
};

function run(request: RequestSeen): Verdict {
  const shape = shapeOf(request);
  if (typeof shape === 'string') return badFrame(shape);
  const lookup = unknownIds(request, shape);
  if (lookup !== undefined) return lookup;
  const mirror = request.config.mirror ?? '';
  const lanes = lanesFor(request.mirrorRole);

  // all lanes are waited for before any is taken, so two requests can't hold one another's
  for (const topic of shape.topics) {
    const name = topicName(request, topic);
    if (name === undefined || !isCopied(request, mirror, name)) continue;
    for (const { index } of topic.partitions) {
      const free = lanes.find(mirror, name, index)?.free ?? null;
      if (free !== null) return { kind: 'wait', until: free };
    }
  }

  const granted: Granted[] = [];
  const refusals: Refusal[] = [];
  const seen = new Set<string>();
  const own = shape.topics.map((topic) => {
    const name = topicName(request, topic);
    return topic.partitions.map((partition): OwnAnswer | undefined => {
      if (name === undefined) return { code: ErrorCode.UNKNOWN_TOPIC_ID, message: 'no topic has this id' };
      const judged = isCopied(request, mirror, name)
        ? judgeCopied(request, lanes, mirror, name, topic.topicId ?? name, partition, shape.acks, seen)
        : judgeWrite(request, name, partition.index);
      if (judged === undefined) return undefined;
      if ('lane' in judged) {
        granted.push(judged);
        return undefined;
      }
      refusals.push({ code: judged.code, message: judged.message ?? '', topic: name });
      return judged;
    });
  });

  const { apiVersion, correlationId, clientId } = request.header;
  if (refusals.length > 0) {
    const error = shape.acks === 0 ? 'closed' : errorName(refusals[0]?.code ?? 0);
    publishRefusal(
      request.config,
      { clientAddress: request.clientAddress, clientId },
      produceApi.name,
      error,
      refusals,
    );
  }
  const whole = isWholeRefused(own);
  if (shape.acks === 0) {
    // a copied partition is always refused here, so nothing is granted
    if (isUntouched(own)) return { kind: 'forward', expectReply: false };
    const reason = closeFor(refusals);
    if (whole) return { kind: 'close', reason };
    const chunks = withoutOwn(request.frame, shape, own, apiVersion);
    return { kind: 'forward-as', chunks, expectReply: false, thenClose: reason };
  }
  if (whole) return { kind: 'answer', chunks: ownResponse(shape, own, apiVersion, correlationId) };

  const chunks = withoutOwn(request.frame, shape, own, apiVersion);
  const { mirrorRole, nodes } = request;
  for (const { at, lane, topic, partition } of granted) {
    mapProducerIdInPlace(request.frame, at);
    lane.take();
    mirrorRole.begins(mirror, topic, partition);
  }
  const reply = replyFor({ mirrorRole, mirror, granted, shape, own, apiVersion, nodes });
  return { kind: 'forward-as', chunks, expectReply: true, reply };
}

interface Due {
  readonly mirrorRole: MirrorRolePort;
  readonly mirror: string;
  readonly granted: readonly Granted[];
  readonly shape: ProduceShape;
  readonly own: OwnAnswers;
  readonly apiVersion: number;
  readonly nodes: NodeMap;
}

// Its own function: what a reply can reach is kept until it comes, and the request's frame must not be.
function replyFor({ mirrorRole, mirror, granted, shape, own, apiVersion, nodes }: Due): ReplyHandler {
  return {
    mustHear: granted.length > 0,
    answered: (frame) => {
      const wrong = settleAll(mirrorRole, mirror, granted, frame, apiVersion);
      const merged = wrong.size === 0 ? own : withWrong(own, shape.topics, wrong);
      return mergedResponse(frame, shape, merged, apiVersion, nodes);
    },
    lost: (why, sent) => {
      for (const { lane, topic, partition, expectedOffset } of granted) {
        if (sent) {
          mirrorRole.failed(
            mirror,
            topic,
            partition,
            `${topic}-${partition}: the connection ended (${why}) before the broker answered the Produce at offset ` +
              `${expectedOffset}; whether it was stored is not known`,
          );
        } else mirrorRole.notStored(mirror, topic, partition);
        lane.release();
      }
    },
  };
}

/** A topic of this gateway's mirror: its partitions are written by the copier only. */
function isCopied({ view }: RequestSeen, mirror: string, topic: string): boolean {
  return view.topic(topic)?.mirror === mirror;
}

function withWrong(
  own: OwnAnswers,
  topics: ProduceShape['topics'],
  wrong: ReadonlyMap<string, OwnAnswer>,
): (OwnAnswer | undefined)[][] {
  return topics.map(({ name, topicId, partitions }, t) =>
    partitions.map(({ index }, p) => own[t]?.[p] ?? wrong.get(`${topicId ?? name}/${index}`)),
  );
}
