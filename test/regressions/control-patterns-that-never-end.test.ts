import { afterEach, beforeEach, expect, test } from 'vitest';
import { ControlUnderTest } from '../unit/src/control/support/control-under-test.ts';
import { partitionRecord } from '../unit/src/control/support/records.ts';

// Own fault: a pattern whose matching takes for ever stopped the whole process, gateways and mirrors with it, and as a
// command that was begun it would have done so again at every start.
let under: ControlUnderTest;

beforeEach(() => {
  under = new ControlUnderTest();
});
afterEach(() => under.close());

const endless = '/(a|a)*b/';
const name = 'a'.repeat(30);

test('a pattern that takes too long is refused by name', async () => {
  await under.recorded([partitionRecord('MIRRORING', { topic: name })], { topic: name });
  under.start();
  for (const verb of ['start', 'stop']) {
    const answer = await under.ask(verb, { mirror: 'east-to-west', topics: [endless] });
    expect(answer.error).toMatchObject({
      name: 'INVALID_REQUEST',
      message: expect.stringMatching(/\(a\|a\)\*b.*too long/),
    });
  }
});
