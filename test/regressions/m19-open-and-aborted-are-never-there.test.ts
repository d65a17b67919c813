import { afterEach, expect, test } from 'vitest';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest, spellStored } from '../fake-broker/support/link-under-test.ts';

/**
 * Review of KIP-1279: brokers keep no transaction state for ids below -1, so a reader of the mirror would see open and
 * aborted data. Nothing above the source's last stable offset is copied, and aborted batches become inert markers.
 */

let link: LinkUnderTest;
afterEach(() => link.close());

const txn = (id: bigint) => plainBatch(2, { producerId: id, producerEpoch: 0, transactional: true });
const end = (id: bigint, commit: boolean) =>
  makeMarker({ producerId: id, producerEpoch: 0, commit, coordinatorEpoch: 0 });

test('open, aborted and committed transactions: only committed data ever stands at the destination', async () => {
  link = await LinkUnderTest.start();
  const log = link.from();
  log.append(txn(1n));
  log.append(txn(2n));
  log.append(end(1n, false));
  log.append(end(2n, true));
  log.append(txn(3n));
  log.append(plainBatch(1));
  log.append(txn(4n));
  log.append(end(4n, true));
  link.add();
  await link.mirrored();
  const first = spellStored(link.to());
  expect(first.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    '0 inert',
    '1 inert',
    '2-3 -4',
    '4 inert',
    '5 COMMIT',
  ]);
  log.append(end(3n, false));
  await link.mirrored();
  expect(
    spellStored(link.to())
      .slice(5)
      .map((line) => line.split(' ').slice(0, 2).join(' ')),
  ).toEqual(['6 inert', '7 inert', '8-8 -1', '9-10 -6', '11 COMMIT', '12 inert']);
});
