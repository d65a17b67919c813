import type {
  CommandRecord,
  MirrorRecord,
  OwnerRecord,
  PartitionRecord,
  ResultRecord,
  TopicRecord,
} from '../../../../../src/control/state/types.ts';

/** One record of each kind with every field away from its zero value. */
export const mirror: MirrorRecord = {
  kind: 'mirror',
  name: 'east-to-west',
  source: 'east',
  sourceClusterId: 'Zm9vYmFyYmF6cXV4MTIzNA',
  destination: 'west',
  topics: { include: ['orders', '/payments-.*/'], exclude: ['/.*-tmp/'] },
  copier: 'external',
  replicationFactor: 2,
  createdAt: 1_790_000_000_123,
  deletedAt: 1_790_000_000_456,
};

export const topic: TopicRecord = {
  kind: 'topic',
  topic: 'orders',
  mirror: 'east-to-west',
  sourceTopicId: 'c291cmNlLXRvcGljLWlkMQ',
  destinationTopicId: 'ZGVzdC10b3BpYy1pZC0xMg',
  partitions: 12,
  desired: 'STOPPED',
  generation: 3,
  sourceSettings: { 'retention.ms': '604800000', 'cleanup.policy': '', 'compression.type': null },
  configsPending: true,
  error: 'not given back yet: TOPIC_AUTHORIZATION_FAILED',
  createdByUs: true,
  startedAt: 1_790_000_001_000,
};

export const partition: PartitionRecord = {
  kind: 'partition',
  topic: 'orders',
  partition: 7,
  state: 'FAILED',
  previousState: 'STOPPING',
  retryAttempt: -1,
  errorMessage: 'orders-7: foreign batch at 2^53-2',
  lastMirrored: { offset: 2 ** 53 - 3, sourceEpoch: 41 },
  persistedEnd: 2 ** 53 - 2,
  epochs: [
    { epoch: 0, offset: 0 },
    { epoch: 41, offset: 2 ** 40 + 1 },
  ],
  openIds: [-2n, -(2n ** 61n) + 1n],
  settledBy: 'probe',
  unverified: [{ from: 7, to: 2 ** 53 - 2, why: 'the source no longer held it' }],
  sourceClusterId: 'Zm9vYmFyYmF6cXV4MTIzNA',
  sourceTopicId: 'c291cmNlLXRvcGljLWlkMQ',
  sourceEnd: 2 ** 53 - 1,
  sourceEndAt: 1_790_000_002_000,
  stop: {
    step: 4,
    barrierOffset: 2 ** 53 - 2,
    generation: 3,
    barrierHash: 2n ** 60n - 1n,
    startedAt: 1_790_000_003_000,
    acceptDamage: true,
  },
  report: {
    finishedAt: 1_790_000_004_000,
    lastMirrored: 99,
    sourceEnd: 120,
    sourceEndAt: 1_790_000_002_000,
    cutTransactions: [-2n, -(2n ** 61n) + 1n],
    unverified: [{ from: 90, to: 100, why: 'the source did not answer' }],
    damage: [{ from: 40, to: 41, why: 'accepted' }],
  },
  barriers: [{ offset: 100, generation: 2, sourceClusterId: 'Zm9vYmFyYmF6cXV4MTIzNA' }],
};

export const owner: OwnerRecord = {
  kind: 'owner',
  statePartition: 49,
  instanceId: 'host-1:4711',
  incarnation: 12,
  released: true,
  ends: { 'orders/7': 2 ** 53 - 2, 'a.b/0': 0 },
  at: 1_790_000_005_000,
};

export const command: CommandRecord = {
  kind: 'command',
  id: '0b0e7a52',
  verb: 'failover',
  mirror: 'east-to-west',
  topics: ['orders', 'größe'],
  all: true,
  options: '{"acceptDamage":true}',
  issuedAt: 1_790_000_006_000,
  deadline: 1_790_000_036_000,
  issuer: '127.0.0.1:50000',
  begunAt: 1_790_000_006_500,
};

export const result: ResultRecord = {
  kind: 'result',
  id: '0b0e7a52',
  ok: true,
  errorCode: 42,
  errorMessage: 'no such mirror',
  topics: [{ topic: 'orders', code: 145, message: 'not STOPPED' }],
  report: '{"partitions":[]}',
  finishedAt: 1_790_000_007_000,
};

export const all = [mirror, topic, partition, owner, command, result];
