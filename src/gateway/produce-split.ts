import { decodeResponse, encodeResponse } from '../../protocol/frame/messages.ts';
import { produceApi, type ProduceResponse } from '../../protocol/schema/00-produce.ts';
import type { NodeMap } from './node-map.ts';
import { PRODUCE_FLEXIBLE_FROM, type ProduceShape, type ProduceTopic } from './produce-walk.ts';
import { type Edit, int32Bytes, splice, uvarintBytes } from './splice.ts';

/**
 * One Produce request of which some partitions are answered by us: the rest goes to the broker, and its answer is
 * merged with ours, topics and partitions in the order in which the client named them.
 */
export interface OwnAnswer {
  readonly code: number;
  readonly message: string | null;
}

/** Answers of ours by place in the request: [topic][partition], undefined where the broker is asked. */
export type OwnAnswers = readonly (readonly (OwnAnswer | undefined)[])[];

export function isWholeRefused(own: OwnAnswers): boolean {
  return own.every((topic) => topic.every((answer) => answer !== undefined));
}

export function isUntouched(own: OwnAnswers): boolean {
  return own.every((topic) => topic.every((answer) => answer === undefined));
}

/** The request without the partitions that we answer: views on the frame, record bytes are not copied. */
export function withoutOwn(
  frame: Buffer,
  shape: ProduceShape,
  own: OwnAnswers,
  version: number,
): Uint8Array[] {
  const flexible = version >= PRODUCE_FLEXIBLE_FROM;
  const count = (value: number): Buffer => (flexible ? uvarintBytes(value + 1) : int32Bytes(value));
  const edits: Edit[] = [];
  let topicsLeft = 0;
  shape.topics.forEach((topic, t) => {
    const left = topic.partitions.filter((_, p) => own[t]?.[p] === undefined);
    if (left.length === 0) {
      edits.push({ from: topic.from, to: topic.to, bytes: Buffer.alloc(0) });
      return;
    }
    topicsLeft += 1;
    if (left.length === topic.partitions.length) return;
    const first = topic.partitions[0]?.from ?? topic.partitionsEnd;
    edits.push({ from: topic.headEnd, to: first, bytes: count(left.length) });
    topic.partitions.forEach(({ from, to }, p) => {
      if (own[t]?.[p] !== undefined) edits.push({ from, to, bytes: Buffer.alloc(0) });
    });
  });
  const firstTopic = shape.topics[0]?.from ?? shape.topicsEnd;
  return splice(frame, [{ from: shape.topicsAt, to: firstTopic, bytes: count(topicsLeft) }, ...edits]);
}

/** A whole answer of ours, without asking the broker. */
export function ownResponse(
  shape: ProduceShape,
  own: OwnAnswers,
  version: number,
  correlationId: number,
): Uint8Array[] {
  const responses = shape.topics.map((topic, t) => ({
    ...nameOf(topic),
    partitionResponses: topic.partitions.map(({ index }, p) => refused(index, own[t]?.[p])),
  }));
  return [encodeResponse(produceApi, version, correlationId, { responses })];
}

/** The broker's answer and ours in one; addresses in it are put right as well. */
export function mergedResponse(
  frame: Buffer,
  shape: ProduceShape,
  own: OwnAnswers,
  version: number,
  nodes: NodeMap,
): Uint8Array[] {
  const theirs = decodeResponse(produceApi, version, frame);
  const answers = new Map<string, PartitionAnswer>();
  for (const { name, topicId, partitionResponses } of theirs.responses) {
    for (const answer of partitionResponses)
      answers.set(`${version >= 13 ? topicId : name}/${answer.index}`, answer);
  }
  const responses = shape.topics.map((topic, t) => ({
    ...nameOf(topic),
    partitionResponses: topic.partitions.map(({ index }, p) => {
      const ours = own[t]?.[p];
      if (ours !== undefined) return refused(index, ours);
      return answers.get(`${topic.topicId ?? topic.name}/${index}`) ?? refused(index, undefined);
    }),
  }));
  const merged = { ...theirs, responses, nodeEndpoints: ourEndpoints(theirs, nodes) };
  return [encodeResponse(produceApi, version, frame.readInt32BE(0), merged)];
}

type PartitionAnswer = ProduceResponse['responses'][number]['partitionResponses'][number];

export function ourEndpoints(body: ProduceResponse, nodes: NodeMap): ProduceResponse['nodeEndpoints'] {
  return body.nodeEndpoints.flatMap((endpoint) => {
    const address = nodes.addressOf(endpoint.nodeId);
    return address === undefined ? [] : [{ ...endpoint, host: address.host, port: address.port }];
  });
}

function nameOf(topic: ProduceTopic): { name: string; topicId: string } {
  return { name: topic.name ?? '', topicId: topic.topicId ?? 'AAAAAAAAAAAAAAAAAAAAAA' };
}

const UNKNOWN_SERVER_ERROR = -1;

function refused(index: number, answer: OwnAnswer | undefined): PartitionAnswer {
  return {
    index,
    errorCode: answer?.code ?? UNKNOWN_SERVER_ERROR,
    baseOffset: -1,
    logAppendTimeMs: -1n,
    logStartOffset: -1,
    recordErrors: [],
    errorMessage: answer === undefined ? 'the broker did not answer for this partition' : answer.message,
    currentLeader: { leaderId: -1, leaderEpoch: -1 },
  };
}
