import { ErrorCode } from '../../../protocol/errors.ts';
import { Reader } from '../../../protocol/primitives/reader.ts';
import { Writer } from '../../../protocol/primitives/writer.ts';
import { metadataApi } from '../../../protocol/schema/03-metadata.ts';
import type { NodeMap } from '../node-map.ts';
import { type ApiRule, MOST_KEPT, type ResponseSeen } from '../rule.ts';
import { splice } from '../splice.ts';
import type { BrokerAddress } from '../upstream.ts';
import { checkCluster } from './common.ts';

/**
 * Metadata: every broker's address is ours; a broker without one is left out and its partitions are shown leaderless
 * (LEADER_NOT_AVAILABLE, which clients retry). Ids stay real. Topic ids are learned on the way.
 *
 * A large cluster's answer holds hundreds of thousands of partitions, and every client asks for it at once when they come
 * back: made into objects it would stop everyone else for seconds. So it is walked. Only the list of brokers is
 * written anew; a leader, an error or the controller is changed where it stands, and all other bytes stay.
 */
export const metadataRule: ApiRule = {
  key: metadataApi.key,
  versions: [metadataApi.min, metadataApi.max],
  response: { from: 0, largest: Number.POSITIVE_INFINITY, run: rewrite },
};

/** As many as are remembered (`topic-ids.ts`). */
const MOST_LEARNT = 100_000;

interface Walk {
  readonly frame: Buffer;
  readonly reader: Reader;
  readonly version: number;
  readonly flexible: boolean;
  readonly nodes: NodeMap;
}

function rewrite(response: ResponseSeen): Uint8Array[] {
  const { frame, apiVersion: version, nodes, ids } = response;
  const flexible = version >= metadataApi.flexibleFrom;
  const reader = new Reader(frame);
  const walk: Walk = { frame, reader, version, flexible, nodes };
  reader.skip(4);
  if (flexible) reader.skipTags();
  if (version >= 3) reader.skip(4);
  const from = reader.position;
  const brokers: BrokerAddress[] = [];
  const bytes = readdressBrokers(walk, brokers);
  const to = reader.position;
  if (version >= 2) checkCluster(response, nullableText(walk));
  if (version >= 1 && !nodes.has(reader.int32()) && reader.ok) frame.writeInt32BE(-1, reader.position - 4);
  const learnt = readdressTopics(walk);
  if (version >= 8 && version <= 10) reader.skip(4);
  if (version >= 13) reader.skip(2);
  if (flexible) reader.skipTags();
  if (reader.remaining > 0) reader.bad(`${reader.remaining} bytes behind its end`);
  if (!reader.ok) {
    throw new Error(`Metadata v${version} response at byte ${reader.badAt}: ${reader.badReason}`);
  }
  for (const [topicId, name] of learnt) ids.learn(topicId, name);
  response.brokersTold(brokers);
  return splice(frame, [{ from, to, bytes }]);
}

/** Steps over the brokers. @returns the same list with our addresses, without those that have none */
function readdressBrokers({ frame, reader, version, flexible, nodes }: Walk, real: BrokerAddress[]): Buffer {
  const kept: { nodeId: number; host: string; port: number; rest: Buffer }[] = [];
  const count = flexible ? reader.compactArrayLength(10, false) : reader.arrayLength(10, false);
  if (count > MOST_KEPT) reader.bad(`${count} brokers`);
  for (let index = 0; index < count && reader.ok; index += 1) {
    const nodeId = reader.int32();
    const realHost = flexible ? reader.compactString() : reader.string();
    const realPort = reader.int32();
    const restAt = reader.position;
    if (version >= 1) nullableText({ reader, flexible });
    if (flexible) reader.skipTags();
    const address = reader.ok ? nodes.addressOf(nodeId) : undefined;
    if (address !== undefined) {
      real.push({ nodeId, host: realHost, port: realPort });
      kept.push({ nodeId, ...address, rest: frame.subarray(restAt, reader.position) });
    }
  }
  const writer = new Writer();
  if (flexible) writer.uvarint(kept.length + 1);
  else writer.int32(kept.length);
  for (const { nodeId, host, port, rest } of kept) {
    writer.int32(nodeId);
    if (flexible) writer.compactString(host);
    else writer.string(host);
    writer.int32(port);
    writer.raw(rest);
  }
  if (!writer.ok) throw new Error(`Metadata v${version}: ${writer.badReason}`);
  return writer.bytes();
}

/** Steps over the topics and takes away leaders that have no address. @returns ids and names of those that exist */
function readdressTopics(walk: Walk): [id: string, name: string][] {
  const { reader, version, flexible } = walk;
  const learnt: [string, string][] = [];
  const count = flexible ? reader.compactArrayLength(5, false) : reader.arrayLength(8, false);
  for (let topic = 0; topic < count && reader.ok; topic += 1) {
    const errorCode = reader.int16();
    const name = nullableText(walk);
    const topicId = version >= 10 ? reader.uuid() : undefined;
    if (version >= 1) reader.skip(1);
    const partitions = flexible ? reader.compactArrayLength(13, false) : reader.arrayLength(18, false);
    for (let partition = 0; partition < partitions && reader.ok; partition += 1) readdressPartition(walk);
    if (version >= 8) reader.skip(4);
    if (flexible) reader.skipTags();
    const isNamed = errorCode === ErrorCode.NONE && name !== null && topicId !== undefined;
    if (isNamed && learnt.length < MOST_LEARNT) learnt.push([topicId, name]);
  }
  return learnt;
}

function readdressPartition({ frame, reader, version, flexible, nodes }: Walk): void {
  const at = reader.position;
  const errorCode = reader.int16();
  reader.skip(4);
  const leaderId = reader.int32();
  if (leaderId >= 0 && reader.ok && nodes.addressOf(leaderId) === undefined) {
    if (errorCode === ErrorCode.NONE) frame.writeInt16BE(ErrorCode.LEADER_NOT_AVAILABLE, at);
    frame.writeInt32BE(-1, at + 6);
  }
  if (version >= 7) reader.skip(4);
  // replicas, in-sync ones, and from 5 on those offline
  for (let list = version >= 5 ? 3 : 2; list > 0 && reader.ok; list -= 1) {
    reader.skip(4 * (flexible ? reader.compactArrayLength(4, false) : reader.arrayLength(4, false)));
  }
  if (flexible) reader.skipTags();
}

function nullableText({ reader, flexible }: Pick<Walk, 'reader' | 'flexible'>): string | null {
  return flexible ? reader.compactNullableString() : reader.nullableString();
}
