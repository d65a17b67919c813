import { decodeRequest } from '../../../protocol/frame/messages.ts';
import { deleteRecordsApi } from '../../../protocol/schema/21-delete-records.ts';
import { judgeChange } from '../guard.ts';
import type { ApiRule, RequestSeen, Verdict } from '../rule.ts';
import { whenLoaded } from './common.ts';
import { refuseWhole } from './refuse-whole.ts';

/** DeleteRecords: a mirror's log start follows the source. The response has no room for a message. */
export const deleteRecordsRule: ApiRule = {
  key: deleteRecordsApi.key,
  versions: [deleteRecordsApi.min, deleteRecordsApi.max],
  request: { from: 0, run: (request) => whenLoaded(request.view, () => run(request)) },
};

function run(request: RequestSeen): Verdict {
  const { header, frame } = request;
  const body = decodeRequest(deleteRecordsApi, header.apiVersion, frame, header.bodyOffset);
  const entries = body.topics.map(({ name, partitions }) => ({
    entry: { name, partitions },
    judgement: judgeChange(request, name),
  }));
  return refuseWhole(deleteRecordsApi, request, entries, (topics) => ({
    topics: topics.map(({ name, partitions, errorCode }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, lowWatermark: -1, errorCode })),
    })),
  }));
}
