import { ErrorCode } from '../../protocol/errors.ts';
import { metadataApi } from '../../protocol/schema/03-metadata.ts';
import { CallTimeoutError } from '../net/close-cause.ts';
import type { Cluster } from '../net/cluster.ts';

/** First Metadata version that finds topics by id. */
const BY_ID_VERSION = 12;
const TIMEOUT_MS = 5_000;

/** Names of topic ids, asked from any broker. Ids that do not exist, or that we may not describe, are left out. */
export async function lookupTopicIds(
  cluster: Cluster,
  ids: readonly string[],
  timeoutMs = TIMEOUT_MS,
): Promise<ReadonlyMap<string, string>> {
  const connection = await cluster.anyConnection('gateway-topic-ids');
  const question = { topics: ids.map((topicId) => ({ topicId, name: null })), allowAutoTopicCreation: false };
  const body = await connection
    .call(metadataApi, question, { version: BY_ID_VERSION, timeoutMs })
    .catch((error: unknown) => {
      // nothing but questions goes over this connection, so a silent one is left for a new one
      if (error instanceof CallTimeoutError) connection.end('local-close', 'no answer to Metadata');
      throw error;
    });
  const names = new Map<string, string>();
  for (const { errorCode, name, topicId } of body.topics) {
    if (errorCode === ErrorCode.NONE && name !== null) names.set(topicId, name);
  }
  return names;
}
