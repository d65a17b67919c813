import { decodeRequest } from '../../../protocol/frame/messages.ts';
import { deleteTopicsApi } from '../../../protocol/schema/20-delete-topics.ts';
import { judgeChange, unknownIdRefusal } from '../guard.ts';
import type { ApiRule, RequestSeen, Verdict } from '../rule.ts';
import { whenLoaded } from './common.ts';
import { refuseWhole } from './refuse-whole.ts';

/** DeleteTopics, by name and (6) by id. An id whose name is not known could be a mirror topic's: refused. */
export const deleteTopicsRule: ApiRule = {
  key: deleteTopicsApi.key,
  versions: [deleteTopicsApi.min, deleteTopicsApi.max],
  request: { from: 0, run: (request) => whenLoaded(request.view, () => run(request)) },
};

const ZERO_ID = 'AAAAAAAAAAAAAAAAAAAAAA';

function run(request: RequestSeen): Verdict {
  const { header, frame, ids } = request;
  const body = decodeRequest(deleteTopicsApi, header.apiVersion, frame, header.bodyOffset);
  const named =
    header.apiVersion >= 6 ? body.topics : body.topicNames.map((name) => ({ name, topicId: ZERO_ID }));
  const unknown = named.filter(({ name, topicId }) => name === null && ids.needsLookup(topicId));
  if (unknown.length > 0) return { kind: 'wait', until: ids.resolve(unknown.map(({ topicId }) => topicId)) };
  const entries = named.map((entry) => {
    const name = entry.name ?? ids.nameOf(entry.topicId);
    return {
      entry,
      judgement: name === undefined ? unknownIdRefusal(entry.topicId) : judgeChange(request, name),
    };
  });
  return refuseWhole(deleteTopicsApi, request, entries, (responses) => ({ responses }));
}
