export { STATE_VERSION, StateCodecError, decodeRecord, encodeRecord } from './codec.ts';
export { type StateKey, keyOfRecord, keyText, parseKey, placementOf, statePartitionOf } from './keys.ts';
export { LEASE_MS } from './lease.ts';
export { StateClosed, StateWriteRefused } from './retry.ts';
export type { StateTopicSettings } from './state-topic.ts';
export { type StateStoreOptions, TopicStateStore } from './topic-state-store.ts';
export * from './types.ts';
