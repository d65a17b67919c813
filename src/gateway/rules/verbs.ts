import { apiName, ISTHMUS_API_KEY } from '../../../protocol/api-keys.ts';
import { ErrorCode } from '../../../protocol/errors.ts';
import { decodeRequest, encodeResponse } from '../../../protocol/frame/messages.ts';
import {
  createClusterMirrorApi,
  deleteClusterMirrorApi,
  describeClusterMirrorsApi,
  isthmusApi,
  listClusterMirrorsApi,
  startMirrorTopicsApi,
  stopMirrorTopicsApi,
  type AnyApi,
} from '../../../protocol/schema/index.ts';
import { gatewayNotice } from '../../observe/channels.ts';
import type { ApiRule, RequestSeen, Verdict } from '../rule.ts';
import { textOf } from '../../net/error-text.ts';

/**
 * KIP-1279's APIs and the private key 32001: read here, answered by control, never forwarded. What the caller may do
 * is asked from the broker on the caller's own connection; no rights of ours are lent. While the state is not read a
 * verb waits as any other guarded request, for a minute.
 */
const VERB_APIS: readonly AnyApi[] = [
  createClusterMirrorApi,
  startMirrorTopicsApi,
  stopMirrorTopicsApi,
  listClusterMirrorsApi,
  describeClusterMirrorsApi,
  deleteClusterMirrorApi,
  isthmusApi,
];

/** 94, 95, 96, 98, 99, 104 and 32001. */
export const VERB_KEYS: readonly number[] = VERB_APIS.map(({ key }) => key);

export const verbRules: readonly ApiRule[] = VERB_APIS.map((api) => ({
  key: api.key,
  versions: [0, 0],
  request: { from: 0, run: (request: RequestSeen) => run(api, request) },
}));

function run(api: AnyApi, request: RequestSeen): Verdict {
  const { header, frame, verbs, view, rights, clientAddress } = request;
  const encode = (answer: unknown): Uint8Array[] => [
    encodeResponse(api, header.apiVersion, header.correlationId, answer),
  ];
  if (api.key === createClusterMirrorApi.key && isUnregisterController(request)) {
    return {
      kind: 'answer',
      chunks: encode({ errorCode: ErrorCode.UNSUPPORTED_VERSION, errorMessage: TAKEN }),
    };
  }
  const body: unknown = decodeRequest(api, header.apiVersion, frame, header.bodyOffset);
  const call = {
    apiKey: api.key,
    apiVersion: header.apiVersion,
    body,
    clientAddress,
    clientId: header.clientId,
    rights,
  };
  if (view.freshness() === 'loading') {
    // not left to control: what nobody waits for any more must not be done once the state is there
    const errorMessage =
      "the mirrors' state could not be read yet: nothing was done; look at the log of Isthmus";
    const answer = { errorCode: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, errorMessage, ...EMPTY[api.key] };
    return { kind: 'wait', until: view.whenLoaded(), orAnswer: () => encode(answer) };
  }
  const chunks = verbs
    .handle(call)
    .then(encode)
    .catch((error: unknown) => {
      // handle() promises not to reject, so this is a fault of ours: said to the caller, told to the operator
      const text = textOf(error);
      const message = `${apiName(api.key)} failed inside Isthmus: ${text}`;
      gatewayNotice.publish({ gateway: request.config.name, level: 'error', message });
      return encode({ errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, errorMessage: message, ...EMPTY[api.key] });
    });
  return { kind: 'answer-later', chunks };
}

const TAKEN =
  'through Isthmus API key 94 is CreateClusterMirror of KIP-1279; send UnregisterController to a broker itself';

/**
 * Kafka 4.4 gave key 94 to UnregisterController: an int32 and no tagged fields. CreateClusterMirror is never five bytes
 * of which the first is 0: that would be a null name, followed by configs of one byte, or of five and more.
 * Both answers have the same fields.
 */
function isUnregisterController({ frame, header }: RequestSeen): boolean {
  return frame.length - header.bodyOffset === 5 && frame[header.bodyOffset] === 0;
}

/** Fields that an error answer needs beside the head. */
const EMPTY: Readonly<Record<number, object>> = {
  [startMirrorTopicsApi.key]: { topics: [] },
  [stopMirrorTopicsApi.key]: { topics: [] },
  [listClusterMirrorsApi.key]: { mirrors: [] },
  [describeClusterMirrorsApi.key]: { mirrors: [] },
  [ISTHMUS_API_KEY]: { json: null },
};
