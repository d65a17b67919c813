import { afterEach, expect, test } from 'vitest';
import { crcOf, plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

/**
 * kafkajs 1795: 500 KB of gzip became 500 MB in a consumer. A mirror never decompresses: bytes that no codec could
 * even read pass as they are.
 */

let link: LinkUnderTest;
afterEach(() => link.close());

test.each([1, 2, 3, 4])(
  'codec %i: the payload passes byte for byte, whatever it would expand to',
  async (codec) => {
    link = await LinkUnderTest.start();
    const bomb = plainBatch(1000);
    bomb.writeInt16BE(codec, 21);
    bomb.fill(0xee, 61);
    bomb.writeUInt32BE(crcOf(bomb), 17);
    link.from().append(bomb);
    link.add();
    await link.mirrored();
    expect(link.to().batches[0]?.bytes.subarray(17).equals(bomb.subarray(17))).toBe(true);
  },
);
