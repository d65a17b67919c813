import { describe, expect, it } from 'vitest';
import { DecodeTable } from '../../../../src/gateway/decode-table.ts';
import { rulesFor } from '../../../../src/gateway/rules/index.ts';

const tableOf = (role: 'client' | 'mirror'): DecodeTable => {
  const table: DecodeTable = new DecodeTable(rulesFor(role)(() => table));
  return table;
};

describe('DecodeTable', () => {
  const table = tableOf('client');
  const reads = (key: number, version: number): string => {
    const treatment = table.lookup(key, version);
    if (treatment.kind === 'refused') return 'refused';
    return `${treatment.request ? 'request' : '-'} ${treatment.response ? 'response' : '-'}`;
  };

  it.each([
    ['Produce 3', 0, 3, 'request -'],
    ['Produce 9', 0, 9, 'request -'],
    ['Produce 10 (NodeEndpoints)', 0, 10, 'request response'],
    ['Produce 13', 0, 13, 'request response'],
    ['Produce 2 (message format 1)', 0, 2, 'refused'],
    ['Produce 14', 0, 14, 'refused'],
    ['Fetch 3', 1, 3, '- -'],
    ['Fetch 4', 1, 4, '- response'],
    ['Fetch 18', 1, 18, '- response'],
    ['Fetch 19', 1, 19, 'refused'],
    ['ListOffsets at any version', 2, 99, '- -'],
    ['Metadata 13', 3, 13, '- response'],
    ['Metadata 14', 3, 14, 'refused'],
    ['OffsetCommit', 8, 9, '- -'],
    ['FindCoordinator 6', 10, 6, '- response'],
    ['ApiVersions 4', 18, 4, 'request response'],
    ['ApiVersions 900', 18, 900, 'request response'],
    ['ApiVersions -1', 18, -1, 'refused'],
    ['AddPartitionsToTxn 5', 24, 5, 'request -'],
    ['EndTxn', 26, 5, '- -'],
    ['DescribeQuorum 1', 55, 1, '- -'],
    ['DescribeQuorum 2', 55, 2, 'refused'],
    ['DescribeCluster 2', 60, 2, '- response'],
    ['Vote 2', 52, 2, 'refused'],
    ['BeginQuorumEpoch 1', 53, 1, 'refused'],
    ['EndQuorumEpoch 1', 54, 1, 'refused'],
    ['FetchSnapshot 1', 59, 1, 'refused'],
    ['UpdateRaftVoter 0', 82, 0, 'refused'],
    ['ShareGroupHeartbeat', 76, 1, 'refused'],
    ['ShareFetch', 78, 1, 'refused'],
    ['ShareAcknowledge', 79, 1, 'refused'],
    ['CreateClusterMirror', 94, 0, 'request -'],
    ['CreateClusterMirror 1', 94, 1, 'refused'],
    ['a key that nobody knows', 4_711, 3, '- -'],
    ['ours', 32_001, 0, 'request -'],
  ])('%s', (_, key, version, expected) => {
    expect(reads(key, version)).toBe(expected);
  });

  it('offers the intersection, and leaves out what would be empty', () => {
    expect(table.offered(3, 0, 13)).toEqual({ min: 0, max: 13 });
    expect(table.offered(3, 0, 20)).toEqual({ min: 0, max: 13 });
    expect(table.offered(3, 14, 20)).toBeNull();
    expect(table.offered(2, 1, 99)).toEqual({ min: 1, max: 99 });
    expect(table.offered(55, 0, 2)).toEqual({ min: 0, max: 1 });
    expect(table.offered(55, 2, 2)).toBeNull();
    expect(table.offered(78, 1, 2)).toBeNull();
  });

  it.each([
    ['one that KIP-1279 wants and we do not answer', 97],
    ['one that nobody knows', 4_711],
  ])('does not offer an API of a newer broker whose answers could carry addresses: %s', (_, key) => {
    expect(table.offered(key, 0, 0)).toBeNull();
  });

  it('keeps the minimum of Produce as the broker announces it: librdkafka needs 0', () => {
    expect(table.offered(0, 0, 13)).toEqual({ min: 0, max: 13 });
  });
});
