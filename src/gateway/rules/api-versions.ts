import { ErrorCode } from '../../../protocol/errors.ts';
import { decodeRequest, decodeResponse, encodeResponse } from '../../../protocol/frame/messages.ts';
import { apiVersionsApi } from '../../../protocol/schema/18-api-versions.ts';
import { ISTHMUS_API_KEY } from '../../../protocol/api-keys.ts';
import { SOFTWARE_NAME } from '../../net/software.ts';
import type { DecodeTable } from '../decode-table.ts';
import type { ApiRule, RequestSeen, ResponseSeen, Verdict } from '../rule.ts';
import { correlationIdOf, FORWARD } from './common.ts';
import { VERB_KEYS } from './verbs.ts';

/**
 * ApiVersions: what the broker behind announces, cut to what we can rewrite (cases P5, P6); KIP-1279's APIs are
 * added, our private one only for our own command.
 *
 * A version that the broker does not know is answered by it in version 0 form with error 35 and the connection stays
 * (case P3); one that we don't know is answered so by us.
 */
const MAX = apiVersionsApi.max;

export function apiVersionsRule(table: () => DecodeTable): ApiRule {
  return {
    key: apiVersionsApi.key,
    // no upper bound: an unknown version is answered, not refused by closing
    versions: [0, 0x7fff],
    request: { from: 0, run },
    response: { from: 0, run: (response) => rewrite(response, table()) },
  };
}

function run(request: RequestSeen): Verdict {
  const { header, frame } = request;
  if (header.apiVersion > MAX) {
    const body = {
      errorCode: ErrorCode.UNSUPPORTED_VERSION,
      apiKeys: [{ apiKey: apiVersionsApi.key, minVersion: 0, maxVersion: MAX }],
    };
    return { kind: 'answer', chunks: [encodeResponse(apiVersionsApi, 0, header.correlationId, body)] };
  }
  if (header.apiVersion >= 3) {
    const body = decodeRequest(apiVersionsApi, header.apiVersion, frame, header.bodyOffset);
    request.softwareName = body.clientSoftwareName;
  }
  return FORWARD;
}

function rewrite({ frame, apiVersion, softwareName }: ResponseSeen, table: DecodeTable): Uint8Array[] {
  // the header of this response is version 0 at every version, so the error code stands at byte 4
  const refused = frame.length >= 6 && frame.readInt16BE(4) === ErrorCode.UNSUPPORTED_VERSION;
  const version = refused ? 0 : apiVersion;
  const body = decodeResponse(apiVersionsApi, version, frame);
  const kept = body.apiKeys.flatMap((entry) => {
    if (VERB_KEYS.includes(entry.apiKey)) return [];
    const range =
      entry.apiKey === apiVersionsApi.key
        ? { min: entry.minVersion, max: Math.min(entry.maxVersion, MAX) }
        : table.offered(entry.apiKey, entry.minVersion, entry.maxVersion);
    return range === null ? [] : [{ ...entry, minVersion: range.min, maxVersion: range.max }];
  });
  body.apiKeys = kept;
  if (body.errorCode === ErrorCode.NONE) {
    for (const apiKey of VERB_KEYS) {
      if (apiKey === ISTHMUS_API_KEY && softwareName !== SOFTWARE_NAME) continue;
      body.apiKeys.push({ apiKey, minVersion: 0, maxVersion: 0 });
    }
  }
  return [encodeResponse(apiVersionsApi, version, correlationIdOf(frame), body)];
}
