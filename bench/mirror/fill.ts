import { BASE_SEQUENCE_AT, CRC_AT } from '../../protocol/records/batch.ts';
import { crc32c } from '../../protocol/records/crc32c.ts';
import { produceApi } from '../../protocol/schema/00-produce.ts';
import { initProducerIdApi } from '../../protocol/schema/22-init-producer-id.ts';
import { BrokerConnection } from '../../src/net/connection.ts';
import { until } from '../../test/harness/until.ts';
import { type Shape, templateOf } from './shape.ts';

export interface Filled {
  readonly batches: number;
  readonly records: number;
  /** As stored. */
  readonly bytes: number;
}

/** What an idempotent producer may have in progress. */
const IN_PROGRESS = 5;
const ATTRIBUTES_AT = 21;
const NAME_VERSION = 12;

/** Writes a topic of exactly this shape, as fast as it goes: batches sent one a partition, five requests in progress. */
export async function fillTopic(
  broker: { host: string; port: number },
  topic: string,
  shape: Shape,
  bytes: number,
  signal: AbortSignal,
): Promise<Filled> {
  const connection = await BrokerConnection.connect({ ...broker, clientId: 'bench-fill', signal });
  try {
    const started = await startProducer(connection);
    const { batch, records } = templateOf(shape, started.producerId, started.producerEpoch);
    const rounds = Math.ceil(bytes / (batch.length * shape.partitions));
    const progress: Promise<void>[] = [];
    for (let round = 0; round < rounds; round++) {
      signal.throwIfAborted();
      if (progress.length === IN_PROGRESS) await progress.shift();
      // Every partition gets the same bytes: the sequence is counted for each of them.
      const next = Buffer.from(batch);
      next.writeInt32BE(round * records, BASE_SEQUENCE_AT);
      next.writeUInt32BE(crc32c(next, ATTRIBUTES_AT), CRC_AT);
      const sending = (): Promise<void> => send(connection, topic, shape.partitions, next);
      if (round === 0) {
        // A new topic has no leaders for a moment; what was stored already is a duplicate and not stored again.
        await until(`${topic} takes records`, () => sending().then(() => true));
        continue;
      }
      const sent = sending();
      // Of several that fail the first awaited one is told.
      sent.catch(() => undefined);
      progress.push(sent);
    }
    await Promise.all(progress);
    const batches = rounds * shape.partitions;
    return { batches, records: batches * records, bytes: batches * batch.length };
  } finally {
    connection.end('local-close');
  }
}

/** A broker that has just begun needs a moment before it has ids to give. */
async function startProducer(connection: BrokerConnection) {
  return until('the broker hands out a producer id', async () => {
    const reply = await connection.call(initProducerIdApi, {
      transactionalId: null,
      transactionTimeoutMs: 60_000,
    });
    return reply.errorCode === 0 && reply;
  });
}

async function send(
  connection: BrokerConnection,
  topic: string,
  partitions: number,
  records: Buffer,
): Promise<void> {
  const partitionData = Array.from({ length: partitions }, (_, index) => ({ index, records }));
  const body = {
    transactionalId: null,
    acks: -1,
    timeoutMs: 30_000,
    topicData: [{ name: topic, partitionData }],
  };
  const reply = await connection.call(produceApi, body, { maxVersion: NAME_VERSION });
  for (const { partitionResponses } of reply.responses) {
    for (const { index, errorCode } of partitionResponses) {
      if (errorCode !== 0) throw new Error(`Produce to ${topic}-${index}: error ${errorCode}`);
    }
  }
}
