import protobuf from 'protobufjs/light.js';

/**
 * `state.proto` in TypeScript, so that sources and compiled code load it alike, with no file to copy and no parser.
 * `test/unit/src/control/state/descriptor.test.ts` holds the two equal. A field is `[type, id]` or
 * `['repeated', type, id]`.
 */
type FieldOf = readonly [type: string, id: number] | readonly ['repeated', type: string, id: number];

const RECORD: Readonly<Record<string, FieldOf>> = {
  mirror: ['Mirror', 10],
  topic: ['Topic', 11],
  partition: ['Partition', 12],
  owner: ['Owner', 13],
  command: ['Command', 14],
  result: ['Result', 15],
};

const MESSAGES: Readonly<Record<string, Readonly<Record<string, FieldOf>>>> = {
  Mirror: {
    name: ['string', 1],
    source: ['string', 2],
    sourceClusterId: ['string', 3],
    destination: ['string', 4],
    include: ['repeated', 'string', 5],
    exclude: ['repeated', 'string', 6],
    copier: ['string', 7],
    createdAt: ['int64', 8],
    deletedAt: ['int64', 9],
    replicationFactor: ['uint32', 10],
  },
  Topic: {
    topic: ['string', 1],
    mirror: ['string', 2],
    sourceTopicId: ['string', 3],
    destinationTopicId: ['string', 4],
    partitions: ['uint32', 5],
    desired: ['string', 6],
    generation: ['uint32', 7],
    sourceSettings: ['repeated', 'Setting', 8],
    configsPending: ['bool', 9],
    error: ['string', 10],
    createdByUs: ['bool', 11],
    startedAt: ['int64', 12],
  },
  Setting: { name: ['string', 1], overridden: ['bool', 2], value: ['string', 3] },
  Partition: {
    topic: ['string', 1],
    partition: ['uint32', 2],
    state: ['string', 3],
    previousState: ['string', 4],
    retryAttempt: ['sint32', 5],
    errorMessage: ['string', 6],
    lastMirroredOffset: ['sint64', 7],
    lastMirroredEpoch: ['sint32', 8],
    persistedEnd: ['sint64', 9],
    epochs: ['repeated', 'Epoch', 10],
    sourceClusterId: ['string', 11],
    sourceTopicId: ['string', 12],
    sourceEnd: ['sint64', 13],
    sourceEndAt: ['int64', 14],
    stop: ['StopProgress', 15],
    report: ['StopReport', 16],
    barriers: ['repeated', 'Barrier', 17],
    openIds: ['repeated', 'sint64', 18],
    settledBy: ['string', 19],
    unverified: ['repeated', 'Range', 20],
  },
  Epoch: { epoch: ['sint32', 1], offset: ['sint64', 2] },
  Barrier: { offset: ['sint64', 1], generation: ['uint32', 2], sourceClusterId: ['string', 3] },
  StopProgress: {
    step: ['uint32', 1],
    barrierOffset: ['sint64', 2],
    generation: ['uint32', 3],
    barrierHash: ['uint64', 4],
    startedAt: ['int64', 5],
    acceptDamage: ['bool', 6],
  },
  StopReport: {
    finishedAt: ['int64', 1],
    lastMirrored: ['sint64', 2],
    sourceEnd: ['sint64', 3],
    sourceEndAt: ['int64', 4],
    cutTransactions: ['repeated', 'sint64', 5],
    unverified: ['repeated', 'Range', 6],
    damage: ['repeated', 'Range', 7],
  },
  Range: { from: ['sint64', 1], to: ['sint64', 2], why: ['string', 3] },
  Owner: {
    statePartition: ['uint32', 1],
    instanceId: ['string', 2],
    incarnation: ['uint64', 3],
    released: ['bool', 4],
    ends: ['repeated', 'End', 5],
    at: ['int64', 6],
  },
  End: { partition: ['string', 1], end: ['sint64', 2] },
  Command: {
    id: ['string', 1],
    verb: ['string', 2],
    mirror: ['string', 3],
    topics: ['repeated', 'string', 4],
    all: ['bool', 5],
    options: ['string', 6],
    issuedAt: ['int64', 7],
    deadline: ['int64', 8],
    issuer: ['string', 9],
    begunAt: ['int64', 10],
  },
  Result: {
    id: ['string', 1],
    ok: ['bool', 2],
    errorCode: ['sint32', 3],
    errorMessage: ['string', 4],
    topics: ['repeated', 'TopicError', 5],
    report: ['string', 6],
    finishedAt: ['int64', 7],
  },
  TopicError: { topic: ['string', 1], code: ['sint32', 2], message: ['string', 3] },
};

/** The envelope's type, ready to encode and decode. JSON descriptors without an edition are read as proto3. */
export function stateRecordType(): protobuf.Type {
  const messages = Object.entries(MESSAGES).map(
    ([name, fields]) => [name, { fields: fieldsOf(fields) }] as const,
  );
  const envelope = {
    oneofs: { record: { oneof: Object.keys(RECORD) } },
    fields: fieldsOf({ version: ['uint32', 1], ownerEpoch: ['uint64', 2], ...RECORD }),
  };
  const nested = { ...Object.fromEntries(messages), StateRecord: envelope };
  return protobuf.Root.fromJSON({ nested: { isthmus: { nested: { state: { nested } } } } })
    .resolveAll()
    .lookupType('isthmus.state.StateRecord');
}

function fieldsOf(fields: Readonly<Record<string, FieldOf>>): Record<string, protobuf.IField> {
  const entries = Object.entries(fields).map(([name, field]) => [
    name,
    field.length === 3 ? { rule: field[0], type: field[1], id: field[2] } : { type: field[0], id: field[1] },
  ]);
  return Object.fromEntries(entries) as Record<string, protobuf.IField>;
}
