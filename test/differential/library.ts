/**
 * The other side of the comparison: @platformatic/kafka's codecs, one namespace for each API and version. Its request
 * builders take positional arguments and fix some fields; `requests` says how a message of ours maps onto them.
 * Its parsers throw when a body carries an error code, with the parsed body inside.
 */

import * as library from '@platformatic/kafka';
import { Reader, ResponseError } from '@platformatic/kafka';

interface Namespace {
  createRequest(...args: unknown[]): { readonly buffer: Buffer };
  parseResponse(correlationId: number, apiKey: number, apiVersion: number, reader: Reader): unknown;
}

export type Message = Record<string, unknown>;

/** The library's codecs of an API name (`Fetch`) by version. */
export function libraryVersions(name: string): ReadonlyMap<number, Namespace> {
  const pattern = new RegExp(`^${name[0]?.toLowerCase()}${name.slice(1)}V(\\d+)$`);
  const out = new Map<number, Namespace>();
  for (const [key, value] of Object.entries(library)) {
    const match = pattern.exec(key);
    if (match !== null) out.set(Number(match[1]), value as unknown as Namespace);
  }
  return out;
}

/** Parses a response body with the library, whether it carries error codes or not. */
export function parseWithLibrary(namespace: Namespace, key: number, version: number, body: Buffer): unknown {
  try {
    return namespace.parseResponse(1, key, version, Reader.from(body));
  } catch (error) {
    if (error instanceof ResponseError && error['response'] !== undefined) return error['response'];
    throw error;
  }
}

/** 22 characters of base64url as the hyphenated hexadecimal form that the library uses. */
export function hyphenated(uuid: string): string {
  const hex = Buffer.from(uuid, 'base64url').toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export interface RequestMapping {
  /** Makes a generated message expressible by the library: fields that it fixes get the value that it writes. */
  readonly tame: (message: Message, version: number) => void;
  readonly args: (message: Message, version: number) => unknown[];
}

const asIs = (): void => {};
const list = (value: unknown): Message[] => value as Message[];

function each(message: Message, path: readonly string[], visit: (item: Message) => void): void {
  const [head, ...rest] = path;
  if (head === undefined) return visit(message);
  for (const item of list(message[head] ?? [])) each(item, rest, visit);
}

/** Request mappings by API name. Produce is missing: the library only writes batches of its own (see the test). */
export const requests: Readonly<Record<string, RequestMapping>> = {
  Fetch: {
    tame: (message, version) => {
      message['replicaId'] = undefined;
      message['replicaState'] = undefined;
      message['clusterId'] = undefined;
      each(message, ['topics', 'partitions'], (partition) => {
        partition['logStartOffset'] = -1;
        if (version < 17) partition['replicaDirectoryId'] = undefined;
      });
    },
    args: (m, version) => [
      m['maxWaitMs'],
      m['minBytes'],
      m['maxBytes'],
      m['isolationLevel'],
      m['sessionId'],
      m['sessionEpoch'],
      list(m['topics']).map((topic) => ({
        topicId: version < 13 ? topic['topic'] : hyphenated(topic['topicId'] as string),
        partitions: list(topic['partitions']).map((partition) => ({
          ...partition,
          fetchOffset: BigInt(partition['fetchOffset'] as number),
          replicaDirectoryId: taggedUuid(partition['replicaDirectoryId']),
        })),
      })),
      list(m['forgottenTopicsData'] ?? []).map((topic) => ({
        topicId: version < 13 ? topic['topic'] : hyphenated(topic['topicId'] as string),
        partitions: topic['partitions'],
      })),
      m['rackId'],
    ],
  },
  ListOffsets: { tame: asIs, args: (m) => [m['replicaId'], m['isolationLevel'], m['topics']] },
  Metadata: {
    tame: (message, version) => {
      each(message, ['topics'], (topic) => {
        if (version < 12) {
          topic['topicId'] = undefined;
          topic['name'] ??= '';
        }
      });
    },
    args: (m, version) => [
      m['topics'] === null
        ? null
        : list(m['topics']).map(({ name, topicId }) => ({
            name,
            topicId: version < 12 ? undefined : hyphenated(topicId as string),
          })),
      m['allowAutoTopicCreation'],
      m['includeTopicAuthorizedOperations'],
      m['includeClusterAuthorizedOperations'],
    ],
  },
  FindCoordinator: {
    tame: asIs,
    args: (m, version) => [m['keyType'], version < 4 ? [m['key']] : m['coordinatorKeys']],
  },
  ApiVersions: { tame: asIs, args: (m) => [m['clientSoftwareName'], m['clientSoftwareVersion']] },
  OffsetForLeaderEpoch: {
    tame: asIs,
    args: (m) => [
      m['replicaId'],
      list(m['topics']).map(({ topic, partitions }) => ({
        name: topic,
        partitions: list(partitions).map((partition) => ({
          ...partition,
          partitionIndex: partition['partition'],
        })),
      })),
    ],
  },
  InitProducerId: {
    tame: asIs,
    args: (m) => [m['transactionalId'], m['transactionTimeoutMs'], m['producerId'], m['producerEpoch']],
  },
  AddPartitionsToTxn: {
    tame: asIs,
    args: (m, version) => [
      version > 3
        ? m['transactions']
        : [
            {
              transactionalId: m['v3AndBelowTransactionalId'],
              producerId: m['v3AndBelowProducerId'],
              producerEpoch: m['v3AndBelowProducerEpoch'],
              topics: m['v3AndBelowTopics'],
            },
          ],
    ],
  },
  EndTxn: {
    tame: asIs,
    args: (m) => [m['transactionalId'], m['producerId'], m['producerEpoch'], m['committed']],
  },
  DescribeCluster: { tame: asIs, args: (m) => [m['includeClusterAuthorizedOperations'], m['endpointType']] },
  DescribeAcls: {
    tame: asIs,
    args: (m) => [
      {
        resourceType: m['resourceTypeFilter'],
        resourceName: m['resourceNameFilter'],
        resourcePatternType: m['patternTypeFilter'],
        principal: m['principalFilter'],
        host: m['hostFilter'],
        operation: m['operation'],
        permissionType: m['permissionType'],
      },
    ],
  },
  DescribeTransactions: { tame: asIs, args: (m) => [m['transactionalIds']] },
  ListTransactions: {
    tame: asIs,
    args: (m) => [
      m['stateFilters'],
      m['producerIdFilters'],
      m['durationFilter'],
      m['transactionalIdPattern'],
    ],
  },
  CreateTopics: { tame: asIs, args: (m) => [m['topics'], m['timeoutMs'], m['validateOnly']] },
  DeleteTopics: {
    tame: asIs,
    args: (m, version) => [
      version < 6
        ? (m['topicNames'] as string[]).map((name) => ({ name }))
        : list(m['topics']).map(({ name, topicId }) => ({ name, topicId: hyphenated(topicId as string) })),
      m['timeoutMs'],
    ],
  },
  CreatePartitions: { tame: asIs, args: (m) => [m['topics'], m['timeoutMs'], m['validateOnly']] },
  DeleteRecords: {
    tame: asIs,
    args: (m) => [
      list(m['topics']).map(({ name, partitions }) => ({
        name,
        partitions: list(partitions).map((partition) => ({
          ...partition,
          offset: BigInt(partition['offset'] as number),
        })),
      })),
      m['timeoutMs'],
    ],
  },
  DescribeConfigs: {
    tame: asIs,
    args: (m) => [m['resources'], m['includeSynonyms'], m['includeDocumentation']],
  },
  AlterConfigs: { tame: asIs, args: (m) => [m['resources'], m['validateOnly']] },
  IncrementalAlterConfigs: { tame: asIs, args: (m) => [m['resources'], m['validateOnly']] },
};

/** A tagged uuid: the zero uuid is the default and stays off the wire. */
function taggedUuid(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === 'AAAAAAAAAAAAAAAAAAAAAA') return undefined;
  return hyphenated(value);
}
