import { ErrorCode, errorName } from '../../../protocol/errors.ts';
import { produceApi } from '../../../protocol/schema/00-produce.ts';
import { Reader } from '../../../protocol/primitives/reader.ts';
import { rewriteEndpoints } from '../endpoints.ts';
import { judgeWrite, publishRefusal, type Refusal } from '../guard.ts';
import {
  isUntouched,
  isWholeRefused,
  mergedResponse,
  type OwnAnswer,
  type OwnAnswers,
  ownResponse,
  withoutOwn,
} from '../produce-split.ts';
import { type ProduceShape, type ProduceTopic, walkProduce } from '../produce-walk.ts';
import type { NodeMap } from '../node-map.ts';
import type { ApiRule, CloseReason, ReplyHandler, RequestSeen, ResponseSeen, Verdict } from '../rule.ts';
import { splice } from '../splice.ts';
import { FORWARD, whenLoaded } from './common.ts';

/**
 * Produce on a `role: client` gateway: partitions of a mirror that is not stopped are refused one by one, the others
 * go on; responses 10+ may carry addresses. With acks=0 nothing is answered, and a refusal closes the connection, as
 * a broker does (case P8).
 */
const ENDPOINTS_FROM = 10;

export const produceRule: ApiRule = {
  key: produceApi.key,
  versions: [produceApi.min, produceApi.max],
  keepAnnouncedMin: true,
  // records are stepped over, not decoded: any size that a broker takes
  request: {
    from: 0,
    largest: Number.POSITIVE_INFINITY,
    run: (request) => whenLoaded(request.view, () => run(request)),
  },
  response: { from: ENDPOINTS_FROM, largest: Number.POSITIVE_INFINITY, run: rewrite },
};

const FORWARD_NO_REPLY: Verdict = { kind: 'forward', expectReply: false };

function run(request: RequestSeen): Verdict {
  const shape = shapeOf(request);
  if (typeof shape === 'string') return badFrame(shape);
  const lookup = unknownIds(request, shape);
  if (lookup !== undefined) return lookup;
  const refusals: Refusal[] = [];
  const own = shape.topics.map((topic) => {
    const name = topicName(request, topic);
    return topic.partitions.map(({ index }): OwnAnswer | undefined => {
      if (name === undefined) return UNKNOWN_ID;
      const refusal = judgeWrite(request, name, index);
      if (refusal !== undefined) refusals.push(refusal);
      return refusal;
    });
  });
  if (isUntouched(own)) return shape.acks === 0 ? FORWARD_NO_REPLY : FORWARD;

  const { apiVersion, correlationId, clientId } = request.header;
  const who = { clientAddress: request.clientAddress, clientId };
  if (refusals.length > 0) {
    const error = shape.acks === 0 ? 'closed' : errorName(refusals[0]?.code ?? 0);
    publishRefusal(request.config, who, produceApi.name, error, refusals);
  }
  const whole = isWholeRefused(own);
  if (shape.acks === 0) {
    const reason = closeFor(refusals);
    if (whole) return { kind: 'close', reason };
    const chunks = withoutOwn(request.frame, shape, own, apiVersion);
    return { kind: 'forward-as', chunks, expectReply: false, thenClose: reason };
  }
  if (whole) return { kind: 'answer', chunks: ownResponse(shape, own, apiVersion, correlationId) };
  const chunks = withoutOwn(request.frame, shape, own, apiVersion);
  return {
    kind: 'forward-as',
    chunks,
    expectReply: true,
    reply: replyFor(shape, own, apiVersion, request.nodes),
  };
}

// Its own function: what a reply can reach is kept until it comes, and the request's frame must not be.
function replyFor(shape: ProduceShape, own: OwnAnswers, apiVersion: number, nodes: NodeMap): ReplyHandler {
  return {
    mustHear: false,
    answered: (frame) => mergedResponse(frame, shape, own, apiVersion, nodes),
    lost: () => undefined,
  };
}

const UNKNOWN_ID: OwnAnswer = { code: ErrorCode.UNKNOWN_TOPIC_ID, message: 'no topic has this id' };

export function shapeOf({ frame, header }: RequestSeen): ProduceShape | string {
  return walkProduce(frame, header.bodyOffset, header.apiVersion);
}

export function badFrame(detail: string): Verdict {
  return { kind: 'close', reason: { cause: 'bad-frame', detail } };
}

export function topicName({ ids }: RequestSeen, topic: ProduceTopic): string | undefined {
  return topic.name ?? (topic.topicId === undefined ? undefined : ids.nameOf(topic.topicId));
}

/** Waits for a lookup when a topic id is met for the first time. */
export function unknownIds({ ids }: RequestSeen, shape: ProduceShape): Verdict | undefined {
  let asked: string[] | undefined;
  for (const { topicId } of shape.topics) {
    if (topicId !== undefined && ids.needsLookup(topicId)) (asked ??= []).push(topicId);
  }
  return asked === undefined ? undefined : { kind: 'wait', until: ids.resolve(asked) };
}

export function closeFor(refusals: readonly Refusal[]): CloseReason {
  return {
    cause: 'request-refused',
    detail: `Produce with acks=0: ${refusals[0]?.message ?? 'a topic id is not known'}`,
  };
}

/** NodeEndpoints of a Produce response: found by a walk that decodes nothing. */
function rewrite({ frame, apiVersion, nodes }: ResponseSeen): Uint8Array[] | null {
  const edit = rewriteEndpoints(frame, endOfProduceResponse(frame, apiVersion), nodes);
  return edit === null ? null : splice(frame, [edit]);
}

/** Where the tagged fields of a flexible Produce response begin. @throws Error for bytes that are none */
export function endOfProduceResponse(frame: Buffer, version: number): number {
  const reader = new Reader(frame);
  reader.skip(4);
  reader.skipTags();
  const topics = reader.compactArrayLength(3, false);
  for (let t = 0; t < topics && reader.ok; t += 1) {
    if (version >= 13) reader.skip(16);
    else reader.compactString();
    const partitions = reader.compactArrayLength(31, false);
    for (let p = 0; p < partitions && reader.ok; p += 1) {
      reader.skip(30);
      const errors = reader.compactArrayLength(6, false);
      for (let e = 0; e < errors && reader.ok; e += 1) {
        reader.skip(4);
        reader.compactNullableString();
        reader.skipTags();
      }
      reader.compactNullableString();
      reader.skipTags();
    }
    reader.skipTags();
  }
  reader.skip(4);
  const at = reader.position;
  reader.skipTags();
  if (!reader.ok || reader.remaining > 0) {
    throw new Error(
      `Produce v${version} response: ${reader.badReason ?? `${reader.remaining} bytes behind its end`}`,
    );
  }
  return at;
}
