import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type SyncError, syncError } from '../../../../src/observe/channels.ts';
import { ControlUnderTest } from './support/control-under-test.ts';
import { partitionRecord } from './support/records.ts';

let under: ControlUnderTest;
const told: SyncError[] = [];
let end: () => void;

beforeEach(async () => {
  told.length = 0;
  end = syncError.subscribe((error) => {
    if (error.task === 'writers') told.push(error);
  });
  under = new ControlUnderTest();
  await under.recorded([partitionRecord('MIRRORING')]);
});
afterEach(async () => {
  end();
  await under.close();
});

const writers = () => under.control.rows(null)[0]?.directWriters;

test('describe names who may write past the gateways, and follows what the ACLs say later', async () => {
  under.start();
  await vi.waitFor(() => expect(writers()).toEqual(['anyone']));
  under.world.writers = { kind: 'known', writersOf: (topic) => [`User:${topic}-app`] };
  await vi.waitFor(() => expect(writers()).toEqual(['User:orders-app']));
  expect(told).toEqual([]);
});

test('not known is null, and said once as long as the reason is the same', async () => {
  under.world.writers = { kind: 'unknown', why: 'no right to read the ACLs' };
  under.start();
  await vi.waitFor(() => expect(told).toHaveLength(1));
  await under.after(120_000);
  expect(writers()).toBeNull();
  expect(told).toHaveLength(1);
  expect(told[0]?.message).toMatch(/not known: no right to read the ACLs/);
  under.world.writers = new Error('no answer');
  await vi.waitFor(() => expect(told).toHaveLength(2));
});

test('of a STOPPED topic nobody is named: it is an ordinary one', async () => {
  await under.recorded([partitionRecord('STOPPED')], { desired: 'STOPPED' });
  under.start();
  await under.after(1000);
  expect(writers()).toBeNull();
});
