import { afterEach, expect, test } from 'vitest';
import { plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';

/**
 * Burrow 494: message formats 0 and 1 have their own layouts and checksums, and were decoded into garbage. Until a
 * mirror can rebuild them it says so, with the offset, behind everything that it could mirror.
 */

let link: LinkUnderTest;
afterEach(() => link.close());

test.each([0, 1])(
  'messages of format %i end the partition with their offset, never in wrong output',
  async (magic) => {
    link = await LinkUnderTest.start();
    link.from().append(plainBatch(3));
    const old = plainBatch(2);
    old.writeInt8(magic, 16);
    link.from().append(old);
    link.from().append(plainBatch(3));
    link.add();
    const failure = await link.failed();
    expect(failure).toMatchObject({ code: 'old-magic', offset: 3, retriable: false });
    expect(failure.message).toMatch(/t-0.*source offset 3.*message format/);
    expect(link.to().end).toBe(3);
  },
);
