import type { BrokerConnection } from '../net/connection.ts';

/**
 * What a broker says of its age. A KRaft broker tells the highest metadata.version that it supports, which names its
 * release; one with ZooKeeper tells only its API versions. Numbers: release notes and 3.9.1 / 4.4.0 as tried.
 */
const METADATA_VERSIONS: readonly (readonly [metadataVersion: number, release: string])[] = [
  [1, '3.0'],
  [3, '3.2'],
  [4, '3.3'],
  [8, '3.4'],
  [9, '3.5'],
  [12, '3.6'],
  [15, '3.7'],
  [20, '3.8'],
  [21, '3.9'],
  [22, '4.0'],
  [26, '4.1 or newer'],
];

const METADATA = 3;
const FETCH = 1;
/** Highest metadata.version of 3.6.0 is 14; of 3.5 it is 11. */
const FIRST_3_6 = 12;
/** Metadata 10 and Fetch 12 came with 2.7 and 2.8: topic ids in Metadata are what 2.8 adds. */
const METADATA_OF_2_8 = 10;
const FETCH_OF_2_8 = 12;
const FIRST_3_8 = 20;

export interface BrokerAge {
  /** `Kafka 3.9 (metadata.version 21)` */
  readonly text: string;
  readonly kraft: boolean;
  readonly enoughForSource: boolean;
  readonly enoughForDestination: boolean;
  /** From 3.8 on Alter on the cluster allows WriteTxnMarkers, before only ClusterAction does. */
  readonly alterAllowsMarkers: boolean;
}

export function brokerAge(connection: BrokerConnection): BrokerAge {
  const metadata = connection.versions.get(METADATA)?.max ?? -1;
  const fetch = connection.versions.get(FETCH)?.max ?? -1;
  const enoughForSource = metadata >= METADATA_OF_2_8 && fetch >= FETCH_OF_2_8;
  const level = connection.features.get('metadata.version')?.max;
  if (level === undefined) {
    return {
      text: `no KRaft (Metadata up to ${metadata}, Fetch up to ${fetch})`,
      kraft: false,
      enoughForSource,
      enoughForDestination: false,
      alterAllowsMarkers: false,
    };
  }
  const release = METADATA_VERSIONS.findLast(([from]) => level >= from)?.[1] ?? 'unknown';
  return {
    text: `Kafka ${release} (metadata.version ${level})`,
    kraft: true,
    enoughForSource,
    enoughForDestination: level >= FIRST_3_6,
    alterAllowsMarkers: level >= FIRST_3_8,
  };
}
