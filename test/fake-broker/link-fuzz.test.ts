import { expect, test } from 'vitest';
import type { MirrorLink } from '../../src/link/index.ts';
import { until } from '../harness/until.ts';
import { type FakeCluster, makeMarker, plainBatch } from './index.ts';
import { LinkUnderTest, spellSource, spellStored } from './support/link-under-test.ts';

/**
 * Everything at once, by seed: transactions in all states at the source; cuts, held answers, refusals, leader moves,
 * bounced brokers and lagging followers on both sides; destinations that lose what they had acknowledged; partitions
 * and whole links that leave in order or without a word and come back with an old end. The logs must be equal in the
 * end, and nothing may have failed.
 *
 *     FUZZ_SEED=100 FUZZ_SEEDS=200 vitest run --project fake-broker test/fake-broker/link-fuzz
 *
 * A request is never held before its effect and then lost: that is the one window that no probe closes.
 */
const FIRST = Number(process.env['FUZZ_SEED'] ?? 1);
const SEEDS = Number(process.env['FUZZ_SEEDS'] ?? 4);
const PARTITIONS = 5;
const ROUNDS = 40;
const SETTINGS = {
  fetchSilenceMs: 250,
  bufferBytes: 128 * 1024,
  fetchMaxBytes: 16 * 1024,
  maxMarkersPerPartition: 7,
  maxMarkersPerRequest: 20,
};
const APPENDS: ReadonlySet<number> = new Set([0, 27]);
/** Requests that may be hurt, and the codes with which brokers refuse them without an effect. */
const REFUSALS: Readonly<Record<number, readonly number[]>> = {
  0: [6, 19, 2, 7],
  1: [6, 74, 75, 56],
  2: [6],
  3: [6],
  23: [6, 75, 3],
  27: [6, 7, -1, 56],
};

class Run {
  readonly #random: () => number;
  readonly #fakes: LinkUnderTest;
  readonly #open: Set<number>[] = Array.from({ length: PARTITIONS }, () => new Set());
  readonly #epochs: { epoch: number; offset: number }[][] = Array.from({ length: PARTITIONS }, () => []);
  readonly #persisted: number[] = Array.from({ length: PARTITIONS }, () => 0);
  readonly #controls: { release(): void; cancel(): void }[] = [];
  readonly story: string[] = [];
  #link: MirrorLink;

  constructor(fakes: LinkUnderTest, seed: number) {
    this.#fakes = fakes;
    let state = Math.imul(seed, 2654435761) >>> 0;
    this.#random = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 32;
    };
    this.#link = this.#make();
    for (let p = 0; p < PARTITIONS; p += 1) this.#add(p, false);
  }

  async go(): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let p = 0; p < PARTITIONS; p += 1) this.#produce(p);
      await this.#hurt();
      await pause(this.#upTo(40));
    }
    for (const [p, open] of this.#open.entries()) for (const id of open) this.#end(p, id);
    for (const control of this.#controls) {
      control.cancel();
      control.release();
    }
    for (let p = 0; p < PARTITIONS; p += 1) {
      const source = this.#fakes.from(p);
      await until(
        `partition ${p} is mirrored`,
        () =>
          this.#fakes.failures.length > 0 || this.#progress(p)?.destinationEnd === source.lastStableOffset,
        { timeoutMs: 20_000 },
      );
    }
  }

  get failures(): string[] {
    return this.#fakes.failures.map(({ failure }) => failure.message);
  }

  stored(p: number): string[] {
    return spellStored(this.#fakes.to(p));
  }

  wanted(p: number): string[] {
    return spellSource(this.#fakes.from(p));
  }

  async close(): Promise<void> {
    await this.#link.close({ silenceMs: 100 });
    await this.#fakes.close();
  }

  #upTo(below: number): number {
    return Math.floor(this.#random() * below);
  }

  #produce(p: number): void {
    const log = this.#fakes.from(p);
    for (let i = this.#upTo(6); i > 0; i -= 1) {
      const id = this.#upTo(4);
      const kind = this.#upTo(5);
      if (kind === 0) log.append(plainBatch(1 + this.#upTo(60)));
      else if (kind === 1) log.append(plainBatch(1 + this.#upTo(4), { producerId: 90n }));
      else if (kind === 4) {
        if (this.#open[p]?.delete(id)) this.#end(p, id);
      } else {
        const spec = { producerId: BigInt(id), producerEpoch: 1, transactional: true };
        log.append(plainBatch(1 + this.#upTo(9), spec));
        this.#open[p]?.add(id);
      }
    }
  }

  #end(p: number, id: number): void {
    const commit = this.#upTo(2) === 0;
    this.#fakes
      .from(p)
      .append(makeMarker({ producerId: BigInt(id), producerEpoch: 1, commit, coordinatorEpoch: 3 }));
  }

  async #hurt(): Promise<void> {
    const atSource = this.#upTo(3) === 0;
    const side: FakeCluster = atSource ? this.#fakes.source : this.#fakes.destination;
    const key = (atSource ? [1, 3, 2] : [0, 0, 27, 27, 23, 3])[this.#upTo(atSource ? 3 : 6)] ?? 0;
    const node = 1 + this.#upTo(atSource ? 2 : 3);
    const p = this.#upTo(PARTITIONS);
    const what = this.#upTo(10);
    const when = this.#upTo(2) === 0 ? 'before' : 'after';
    this.story.push(`${atSource ? 'source' : 'destination'} ${what} key ${key} node ${node} partition ${p}`);
    if (what <= 1) {
      this.#controls.push(side.next(key, { kind: 'cut', when }));
    } else if (what === 2) {
      const held = side.next(key, { kind: 'hold', when: APPENDS.has(key) ? 'after' : when });
      this.#controls.push(held);
      setTimeout(held.release, 20 + this.#upTo(600));
    } else if (what === 3) {
      side.setLeader('t', p, node);
    } else if (what === 4) {
      const codes = REFUSALS[key] ?? [];
      this.#controls.push(side.next(key, { kind: 'fail', code: codes[this.#upTo(codes.length)] ?? 6 }));
    } else if (what === 5) {
      await side.stopNode(node);
      await pause(this.#upTo(80));
      await side.startNode(node);
    } else if (what === 6) {
      this.#fakes.to(p).holdHighWatermark();
      setTimeout(() => this.#fakes.to(p).releaseHighWatermark(), this.#upTo(150));
    } else if (what === 7 && this.#upTo(3) === 0) {
      await this.#leaveAndComeBack(p);
    } else if (what === 8 && this.#upTo(4) === 0) {
      await this.#restart();
    } else if (what === 9 && this.#upTo(2) === 0) {
      this.#loseTail(p);
    }
  }

  /** An unclean election: another broker leads, with less than was acknowledged. */
  #loseTail(p: number): void {
    const log = this.#fakes.to(p);
    const leader = this.#fakes.destination.state.partition('t', p)?.leader ?? 1;
    log.truncate(Math.max(0, log.end - this.#upTo(80)));
    this.#fakes.destination.setLeader('t', p, (leader % 3) + 1);
    this.story.push(`partition ${p} is cut at ${log.end}`);
  }

  async #leaveAndComeBack(p: number): Promise<void> {
    const { end } = await this.#link.remove({ topic: 't', partition: p }, { silenceMs: 3_000 });
    if (end !== null) this.#persisted[p] = end;
    this.#add(p, end !== null);
  }

  async #restart(): Promise<void> {
    for (let p = 0; p < PARTITIONS; p += 1) {
      const end = this.#progress(p)?.destinationEnd ?? -1;
      if (end >= 0 && this.#upTo(2) === 0) this.#persisted[p] = end;
    }
    let released = new Map<string, number>();
    if (this.#upTo(2) === 0) void this.#link.close({ silenceMs: 0 });
    else released = await this.#link.close({ silenceMs: 3_000 });
    this.#link = this.#make();
    for (let p = 0; p < PARTITIONS; p += 1) {
      const end = released.get(`t/${p}`);
      if (end !== undefined) this.#persisted[p] = end;
      this.#add(p, end !== undefined);
    }
  }

  #make(): MirrorLink {
    return this.#fakes.another({
      settings: SETTINGS,
      hooks: {
        epochBegins: async ({ partition }, start) => {
          const kept = (this.#epochs[partition] ?? []).filter((one) => one.epoch < start.epoch);
          this.#epochs[partition] = [...kept.filter((one) => one.offset <= start.offset), start];
        },
        rewound: async ({ partition }, { from }) => {
          this.#persisted[partition] = Math.min(this.#persisted[partition] ?? 0, from);
        },
      },
    });
  }

  #add(p: number, released: boolean): void {
    const epochs = this.#epochs[p] ?? [];
    const resume = {
      persistedEnd: this.#persisted[p] ?? 0,
      released: released || epochs.length === 0,
      epochs,
    };
    this.#link.add({ topic: 't', partition: p }, this.#fakes.resume(resume));
  }

  #progress(p: number) {
    return this.#link.progress({ topic: 't', partition: p });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

test.each(Array.from({ length: SEEDS }, (_, i) => FIRST + i))(
  'seed %i',
  { timeout: 60_000 },
  async (seed) => {
    const topics = [{ name: 't', partitions: PARTITIONS }];
    const fakes = await LinkUnderTest.start({
      source: { brokers: 2, topics },
      destination: { brokers: 3, topics },
    });
    const run = new Run(fakes, seed);
    try {
      await run.go();
      expect(run.failures).toEqual([]);
      for (let p = 0; p < PARTITIONS; p += 1) expect(run.stored(p)).toEqual(run.wanted(p));
    } catch (error) {
      throw new Error(`seed ${seed}:\n${run.story.join('\n')}`, { cause: error });
    } finally {
      await run.close();
    }
  },
);
