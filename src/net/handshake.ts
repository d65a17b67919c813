import { decodeResponse, encodeRequestChunks } from '../../protocol/frame/messages.ts';
import { type ApiVersionsResponse, apiVersionsApi } from '../../protocol/schema/18-api-versions.ts';
import { ConnectionClosedError } from './close-cause.ts';
import type { BrokerConnection } from './connection.ts';
import { SOFTWARE_NAME, SOFTWARE_VERSION } from './software.ts';

export interface VersionRange {
  readonly min: number;
  readonly max: number;
}

export interface Learnt {
  /** By API key. */
  readonly versions: ReadonlyMap<number, VersionRange>;
  /** Supported features by name; empty before ApiVersions 3. */
  readonly features: ReadonlyMap<string, VersionRange>;
}

const UNSUPPORTED_VERSION = 35;
const FIRST_ASKED = 3;

/**
 * The first exchange of a connection: ApiVersions 3, and 0 with a broker that does not know it.
 * @throws ConnectionClosedError, ProtocolError
 */
export async function learnVersions(connection: BrokerConnection): Promise<Learnt> {
  let answer = await ask(connection, FIRST_ASKED);
  if (answer.errorCode === UNSUPPORTED_VERSION) answer = await ask(connection, 0);
  if (answer.errorCode !== 0) {
    const detail = `ApiVersions was answered with error ${answer.errorCode}`;
    throw new ConnectionClosedError('handshake-failed', detail, connection.peer, true);
  }
  return {
    versions: new Map(
      answer.apiKeys.map(({ apiKey, minVersion, maxVersion }) => [
        apiKey,
        { min: minVersion, max: maxVersion },
      ]),
    ),
    features: new Map(
      answer.supportedFeatures.map(({ name, minVersion, maxVersion }) => [
        name,
        { min: minVersion, max: maxVersion },
      ]),
    ),
  };
}

function ask(connection: BrokerConnection, version: number): Promise<ApiVersionsResponse> {
  return new Promise((resolve, reject) => {
    const request = encodeRequestChunks(apiVersionsApi, version, 0, connection.clientId, {
      clientSoftwareName: SOFTWARE_NAME,
      clientSoftwareVersion: SOFTWARE_VERSION,
    });
    connection.sendRaw(request, true, (error, frame) => {
      if (frame === null) {
        reject(error ?? new Error('no answer'));
        return;
      }
      try {
        // a broker that does not know our version answers in version 0, whose first field is the error code
        const refused = frame.length >= 6 && frame.readInt16BE(4) === UNSUPPORTED_VERSION;
        resolve(decodeResponse(apiVersionsApi, refused ? 0 : version, frame));
      } catch (fault) {
        reject(fault instanceof Error ? fault : new Error(String(fault)));
      }
    });
  });
}
