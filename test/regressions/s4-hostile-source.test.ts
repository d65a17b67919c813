import { afterEach, expect, test } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * librdkafka 5577, kafka-node 1268: a hostile broker crashed its clients. The source of a mirror is such a broker as
 * far as the link is concerned: it stays alive, says what came, and goes on when sense returns.
 */

let link: LinkUnderTest;
afterEach(() => link.close());

test.each([
  ['nothing behind the correlation id', Buffer.alloc(0)],
  ['an array of 2^31-2', Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x07])],
  ['random bytes', Buffer.from('8f3ac19ed77b00ff8812c0ffee', 'hex')],
])('a Fetch answered with %s is a passing error', async (_, garbage) => {
  link = await LinkUnderTest.start();
  const silenced = link.source.next(1, { kind: 'silence' });
  link.from().append(plainBatch(3));
  link.add();
  const { connection, correlationId } = await silenced.met;
  const id = Buffer.alloc(4);
  id.writeInt32BE(correlationId);
  link.source.sendRaw(connection, Buffer.concat([id, garbage]));
  await until('the error shows', () => /Fetch/.test(link.progress().error ?? '') || link.to().end === 3);
  await link.mirrored();
  link.expectEqual();
});

test.each<[string, (batch: Buffer) => void]>([
  ['length 2^31-1', (batch) => batch.writeInt32BE(0x7fff_ffff, 8)],
  ['negative length', (batch) => batch.writeInt32BE(-2, 8)],
  ['negative lastOffsetDelta', (batch) => batch.writeInt32BE(-2, 23)],
  ['record count 2^31-1', (batch) => batch.writeInt32BE(0x7fff_ffff, 57)],
  ['unknown message format', (batch) => batch.writeInt8(99, 16)],
])('a batch with %s: FAILED or waited for, never written', async (_, damage) => {
  link = await LinkUnderTest.start();
  link.from().append(plainBatch(3));
  link.from().append(plainBatch(3));
  damage(link.from().batches[1]?.bytes as Buffer);
  link.add();
  await until('the good one stands', () => link.to().end === 3);
  await until('it is asked again, or has failed', () => {
    return link.failures.length > 0 || link.source.requestsOf(1).length > 4;
  });
  expect(link.to().end).toBe(3);
});
