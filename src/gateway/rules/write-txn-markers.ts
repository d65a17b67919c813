import { decodeRequest } from '../../../protocol/frame/messages.ts';
import { writeTxnMarkersApi } from '../../../protocol/schema/27-write-txn-markers.ts';
import { judgeWrite } from '../guard.ts';
import type { ApiRule, RequestSeen, Verdict } from '../rule.ts';
import { whenLoaded } from './common.ts';
import { refuseWhole } from './refuse-whole.ts';

/** WriteTxnMarkers (tools that end hanging transactions): a marker in a mirror partition would shift its offsets. */
export const writeTxnMarkersRule: ApiRule = {
  key: writeTxnMarkersApi.key,
  versions: [writeTxnMarkersApi.min, writeTxnMarkersApi.max],
  request: { from: 0, run: (request) => whenLoaded(request.view, () => run(request)) },
};

function run(request: RequestSeen): Verdict {
  const { header, frame } = request;
  const body = decodeRequest(writeTxnMarkersApi, header.apiVersion, frame, header.bodyOffset);
  const entries = body.markers.flatMap(({ topics }, marker) =>
    topics.flatMap(({ name, partitionIndexes }) =>
      partitionIndexes.map((partitionIndex) => ({
        entry: { marker, name, partitionIndex },
        judgement: judgeWrite(request, name, partitionIndex),
      })),
    ),
  );
  return refuseWhole(writeTxnMarkersApi, request, entries, (errors) => {
    const codes = new Map(
      errors.map(({ marker, name, partitionIndex, errorCode }) => [
        `${marker}/${name}/${partitionIndex}`,
        errorCode,
      ]),
    );
    return {
      markers: body.markers.map(({ producerId, topics }, marker) => ({
        producerId,
        topics: topics.map(({ name, partitionIndexes }) => ({
          name,
          partitions: partitionIndexes.map((partitionIndex) => ({
            partitionIndex,
            errorCode: codes.get(`${marker}/${name}/${partitionIndex}`) ?? -1,
          })),
        })),
      })),
    };
  });
}
