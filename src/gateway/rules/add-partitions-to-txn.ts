import { ErrorCode, errorName } from '../../../protocol/errors.ts';
import { decodeRequest, encodeResponse } from '../../../protocol/frame/messages.ts';
import { addPartitionsToTxnApi } from '../../../protocol/schema/24-add-partitions-to-txn.ts';
import { judgeWrite, NOT_ATTEMPTED, publishRefusal, type Refusal } from '../guard.ts';
import type { ApiRule, RequestSeen, Verdict } from '../rule.ts';
import { FORWARD, whenLoaded } from './common.ts';

/**
 * AddPartitionsToTxn naming a read-only partition is refused whole, 0-3 with one transaction, 4+ with many: if the
 * coordinator took the partition, its ABORT marker would land in the mirror later, past any guard of ours.
 *
 * The partition itself gets TOPIC_AUTHORIZATION_FAILED, which every client takes as "you may not", the rest
 * OPERATION_NOT_ATTEMPTED. When the mirror's state is stale the error is COORDINATOR_LOAD_IN_PROGRESS: producers retry
 * that one here, where NOT_LEADER_OR_FOLLOWER would be fatal to them.
 */
export const addPartitionsToTxnRule: ApiRule = {
  key: addPartitionsToTxnApi.key,
  versions: [addPartitionsToTxnApi.min, addPartitionsToTxnApi.max],
  request: { from: 0, run: (request) => whenLoaded(request.view, () => run(request)) },
};

type Topics = readonly { readonly name: string; readonly partitions: readonly number[] }[];

function run(request: RequestSeen): Verdict {
  const { header, frame } = request;
  const version = header.apiVersion;
  const body = decodeRequest(addPartitionsToTxnApi, version, frame, header.bodyOffset);
  const all: Topics[] =
    version >= 4 ? body.transactions.map(({ topics }) => topics) : [body.v3AndBelowTopics];
  const refusals = new Map<string, Refusal>();
  for (const topics of all) {
    for (const { name, partitions } of topics) {
      for (const index of partitions) {
        const refusal = judgeWrite(request, name, index);
        if (refusal !== undefined) refusals.set(`${name}/${index}`, refusal);
      }
    }
  }
  if (refusals.size === 0) return FORWARD;

  const list = [...refusals.values()];
  const codeFor = (refusal: Refusal): number =>
    refusal.code === ErrorCode.NOT_LEADER_OR_FOLLOWER
      ? ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
      : ErrorCode.TOPIC_AUTHORIZATION_FAILED;
  const who = { clientAddress: request.clientAddress, clientId: header.clientId };
  publishRefusal(
    request.config,
    who,
    addPartitionsToTxnApi.name,
    errorName(codeFor(list[0] as Refusal)),
    list,
  );
  const results = (topics: Topics) =>
    topics.map(({ name, partitions }) => ({
      name,
      resultsByPartition: partitions.map((partitionIndex) => {
        const refusal = refusals.get(`${name}/${partitionIndex}`);
        return {
          partitionIndex,
          partitionErrorCode: refusal === undefined ? NOT_ATTEMPTED.code : codeFor(refusal),
        };
      }),
    }));
  const answer =
    version >= 4
      ? {
          resultsByTransaction: body.transactions.map(({ transactionalId, topics }) => ({
            transactionalId,
            topicResults: results(topics),
          })),
        }
      : { resultsByTopicV3AndBelow: results(body.v3AndBelowTopics) };
  return {
    kind: 'answer',
    chunks: [encodeResponse(addPartitionsToTxnApi, version, header.correlationId, answer)],
  };
}
