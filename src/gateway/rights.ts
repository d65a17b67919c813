import { ErrorCode } from '../../protocol/errors.ts';
import { decodeResponse, encodeRequest } from '../../protocol/frame/messages.ts';
import { metadataApi, type MetadataResponse } from '../../protocol/schema/03-metadata.ts';
import {
  describeClusterApi,
  type DescribeClusterResponse,
} from '../../protocol/schema/60-describe-cluster.ts';
import type { AnyApi } from '../../protocol/schema/index.ts';
import type { CallerRights } from './ports.ts';
import type { Awaiting } from './upstream.ts';

/**
 * What the caller of a verb may do, as the broker says on the caller's own connection (DESIGN section 6): the questions
 * are put into the client's upstream stream and share its order, so no rights of ours are lent.
 */
export type SendUpstream = (chunks: readonly Uint8Array[], awaiting: Awaiting) => void;

/** Versions that every supported destination (3.6+) knows. */
const DESCRIBE_CLUSTER_VERSION = 0;
const METADATA_VERSION = 9;
const NOT_TOLD = -0x8000_0000;
/** Questions of ours count from here; answers are matched by order, the id is a check. */
const FIRST_CORRELATION_ID = 0x7fff_0000;

export function rightsOver(send: SendUpstream, clientId: () => string | null): CallerRights {
  let asked = 0;
  const ask = <Res>(api: AnyApi, version: number, body: unknown): Promise<Res> =>
    new Promise((resolve, reject) => {
      asked = (asked + 1) & 0xffff;
      const correlationId = FIRST_CORRELATION_ID + asked;
      send([encodeRequest(api, version, correlationId, clientId(), body)], {
        correlationId,
        mustHear: false,
        lost: (why) => reject(new Error(`the connection to the broker ended: ${why}`)),
        answered: (frame) => {
          try {
            resolve(decodeResponse(api, version, frame) as Res);
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        },
      });
    });

  return {
    async cluster() {
      const question = { includeClusterAuthorizedOperations: true };
      const body = await ask<DescribeClusterResponse>(describeClusterApi, DESCRIBE_CLUSTER_VERSION, question);
      return body.errorCode === ErrorCode.NONE ? told(body.clusterAuthorizedOperations) : 0;
    },
    async topics(names) {
      if (names.length === 0) return new Map();
      const body = await ask<MetadataResponse>(metadataApi, METADATA_VERSION, {
        topics: names.map((name) => ({ name })),
        allowAutoTopicCreation: false,
        includeTopicAuthorizedOperations: true,
      });
      const rights = new Map<string, number>();
      for (const { name, errorCode, topicAuthorizedOperations } of body.topics) {
        if (name !== null && errorCode === ErrorCode.NONE) rights.set(name, told(topicAuthorizedOperations));
      }
      return rights;
    },
  };
}

function told(operations: number): number {
  return operations === NOT_TOLD ? 0 : operations;
}
