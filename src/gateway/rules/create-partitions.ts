import { decodeRequest } from '../../../protocol/frame/messages.ts';
import { createPartitionsApi } from '../../../protocol/schema/37-create-partitions.ts';
import { judgeChange } from '../guard.ts';
import type { ApiRule, RequestSeen, Verdict } from '../rule.ts';
import { whenLoaded } from './common.ts';
import { refuseWhole } from './refuse-whole.ts';

/** CreatePartitions: a mirror topic's partitions follow the source. */
export const createPartitionsRule: ApiRule = {
  key: createPartitionsApi.key,
  versions: [createPartitionsApi.min, createPartitionsApi.max],
  request: { from: 0, run: (request) => whenLoaded(request.view, () => run(request)) },
};

function run(request: RequestSeen): Verdict {
  const { header, frame } = request;
  const body = decodeRequest(createPartitionsApi, header.apiVersion, frame, header.bodyOffset);
  const entries = body.topics.map(({ name }) => ({ entry: { name }, judgement: judgeChange(request, name) }));
  return refuseWhole(createPartitionsApi, request, entries, (results) => ({ results }));
}
