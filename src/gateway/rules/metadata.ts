import { ErrorCode } from '../../../protocol/errors.ts';
import { decodeResponse, encodeResponse } from '../../../protocol/frame/messages.ts';
import { metadataApi, type MetadataResponse } from '../../../protocol/schema/03-metadata.ts';
import type { NodeMap } from '../node-map.ts';
import type { ApiRule, ResponseSeen } from '../rule.ts';
import type { TopicIds } from '../topic-ids.ts';
import { checkCluster, correlationIdOf } from './common.ts';

/**
 * Metadata: every broker's address is ours; a broker without one is left out and its partitions are shown leaderless
 * (LEADER_NOT_AVAILABLE, which clients retry). Ids stay real. Topic ids are learned on the way.
 */
export const metadataRule: ApiRule = {
  key: metadataApi.key,
  versions: [metadataApi.min, metadataApi.max],
  response: { from: 0, run: rewrite },
};

function rewrite(response: ResponseSeen): Uint8Array[] {
  const { frame, apiVersion, nodes, ids } = response;
  const body = decodeResponse(metadataApi, apiVersion, frame);
  checkCluster(response, body.clusterId);
  learnTopicIds(body, ids);
  readdress(body, nodes);
  return [encodeResponse(metadataApi, apiVersion, correlationIdOf(frame), body)];
}

export function learnTopicIds(body: MetadataResponse, ids: TopicIds): void {
  for (const { errorCode, name, topicId } of body.topics) {
    if (errorCode === ErrorCode.NONE && name !== null) ids.learn(topicId, name);
  }
}

export function readdress(body: MetadataResponse, nodes: NodeMap): void {
  body.brokers = body.brokers.flatMap((broker) => {
    const address = nodes.addressOf(broker.nodeId);
    return address === undefined ? [] : [{ ...broker, host: address.host, port: address.port }];
  });
  if (!nodes.has(body.controllerId)) body.controllerId = -1;
  for (const { partitions } of body.topics) {
    for (const partition of partitions) {
      if (partition.leaderId < 0 || nodes.has(partition.leaderId)) continue;
      nodes.addressOf(partition.leaderId);
      partition.leaderId = -1;
      if (partition.errorCode === ErrorCode.NONE) partition.errorCode = ErrorCode.LEADER_NOT_AVAILABLE;
    }
  }
}
