import { afterEach, expect, test } from 'vitest';
import { makeMarker, plainBatch } from '../fake-broker/index.ts';
import { LinkUnderTest } from '../fake-broker/support/link-under-test.ts';
import { until } from '../harness/until.ts';

/**
 * Strimzi 5366 and 9254: a restart copied everything again, and single records appeared twice. Here a new owner that
 * knows only an old end takes over again and again, with requests of the former ones lost on the way.
 */

let link: LinkUnderTest;
afterEach(() => link.close());

const ref = { topic: 't', partition: 0 };

test('fifty take-overs under load, with lost replies and leader moves, end in equal logs', async () => {
  link = await LinkUnderTest.start({ destination: { brokers: 2 } });
  let persisted = 0;
  for (let round = 0; round < 50; round += 1) {
    for (let i = 0; i < 4; i += 1) {
      const id = { producerId: BigInt(i), producerEpoch: 1 };
      link.from().append(plainBatch(2));
      link.from().append(plainBatch(3, { ...id, transactional: true }));
      link.from().append(makeMarker({ ...id, commit: (round + i) % 3 > 0, coordinatorEpoch: 2 }));
    }
    if (round % 3 === 0) {
      link.destination.next(round % 2 === 0 ? 0 : 27, {
        kind: 'cut',
        when: round % 4 < 2 ? 'after' : 'before',
      });
    }
    if (round % 10 === 5) link.destination.setLeader('t', 0, round % 20 === 5 ? 2 : 1);
    const owner = link.another({ settings: { markerStillMs: 10 } });
    owner.add(
      ref,
      link.resume({ persistedEnd: persisted, released: false, epochs: [{ epoch: 0, offset: 0 }] }),
    );
    await until(`owner ${round} appends`, () => {
      if (link.failures.length > 0) return true;
      const progress = owner.progress(ref);
      return progress?.phase === 'mirroring' && progress.destinationEnd > persisted;
    });
    expect(link.failures).toEqual([]);
    // killed: what it knew last is not persisted, only something older is
    persisted = Math.floor(((owner.progress(ref)?.destinationEnd ?? 0) + persisted) / 2);
    while (inData(persisted)) persisted -= 1;
    await owner.close({ silenceMs: 0 });
  }
  link.add(0, { persistedEnd: persisted, released: false, epochs: [{ epoch: 0, offset: 0 }] });
  await link.mirrored();
  link.expectEqual();
}, 60_000);

/** An end is persisted at the edge of batches only. */
function inData(offset: number): boolean {
  return link.to().batches.some(({ base, last }) => base < offset && offset <= last);
}
