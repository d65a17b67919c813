import { setTimeout as sleep } from 'node:timers/promises';
import type { FrameProxy, HeldReply, HeldRequest, SeenRequest, Wanted } from '../harness/frame-proxy.ts';
import type { Isthmus } from '../harness/isthmus.ts';
import type { KafkaBroker } from '../harness/kafka-broker.ts';
import { type MarkerRun, PRODUCE, readMarkers, readProduce, WRITE_TXN_MARKERS } from './append-frames.ts';
import type { Killed } from './kill-counts.ts';
import type { Kill } from './kill-plan.ts';
import { lastMarkerOffset } from './log-tail.ts';

export interface KillerOptions {
  readonly isthmus: Isthmus;
  readonly proxy: FrameProxy;
  readonly broker: KafkaBroker;
  /** The mirrored topic: its name, and its id at the destination in hexadecimal. */
  readonly topic: string;
  readonly topicId: string;
}

/** The longest wait of the plan for a `frozen`. */
const MOST_WAIT_MS = 8;
const INSIDE_MS = 300;

/** Waits for the moment of a kill, kills, and says what it saw. It leaves Isthmus ended. */
export class Killer {
  readonly #options: KillerOptions;
  #launchedAt = 0;
  #killing = false;

  constructor(options: KillerOptions) {
    this.#options = options;
  }

  launch(): void {
    this.#options.isthmus.launch();
    this.#launchedAt = performance.now();
  }

  /**
   * Throws when Isthmus ends by itself, or when the moment does not come in time.
   */
  async kill(kill: Kill): Promise<Killed> {
    const over = new AbortController();
    const { promise: died, reject } = Promise.withResolvers<never>();
    this.#killing = false;
    void this.#options.isthmus.ended().then(({ code, signal }) => {
      if (!this.#killing) reject(new Error(`isthmus ended by itself with ${code ?? signal}`));
    });
    try {
      return await Promise.race([this.#kill(kill, over.signal), died]);
    } finally {
      over.abort();
    }
  }

  async #kill(kill: Kill, signal: AbortSignal): Promise<Killed> {
    const { proxy } = this.#options;
    const within = { timeoutMs: 60_000, signal };
    let passed = 0;
    const appended = (request: SeenRequest): boolean =>
      readProduce(request).some(({ topic, doomed }) => !doomed && this.#isOurs(topic)) &&
      passed++ >= kill.pass;
    switch (kill.kind) {
      case 'recovery':
      case 'random':
        await sleep(kill.waitMs);
        return this.#end(kill);
      case 'state': {
        const where = (request: SeenRequest): boolean =>
          readProduce(request).some(({ topic, doomed }) => !doomed && !this.#isOurs(topic));
        await proxy.holdReply(PRODUCE, { ...within, where });
        await sleep(kill.waitMs);
        return this.#end(kill);
      }
      case 'torn': {
        const held = await proxy.holdRequest(PRODUCE, { ...within, where: appended });
        const upMs = performance.now() - this.#launchedAt;
        const ended = this.#end(kill, { upMs });
        held.cut(Math.floor(held.request.frame.length / 2));
        return ended;
      }
      case 'produce':
      case 'replied':
        return this.#inFlight(kill, await proxy.holdReply(PRODUCE, { ...within, where: appended }));
      case 'late':
        return this.#late(kill, await proxy.holdRequest(PRODUCE, { ...within, where: appended }));
      case 'markers':
        return this.#inMarkers(kill, 1, within);
      case 'run':
        return this.#inMarkers(kill, kill.number % 2 === 0 ? 50 : 2, within);
      case 'frozen':
        // Long enough for a broker to be stopped in the middle of it.
        return this.#inMarkers({ ...kill, pass: 0 }, 120, within);
      default:
        return kill.kind satisfies never;
    }
  }

  async #inMarkers(kill: Kill, least: number, within: Wanted): Promise<Killed> {
    const pass = kill.pass % 5;
    let passed = 0;
    const held = await this.#options.proxy.holdReply(WRITE_TXN_MARKERS, {
      ...within,
      where: (request) => (this.#longest(request)?.markers ?? 0) >= least && passed++ >= pass,
    });
    return this.#inFlight(kill, held, this.#longest(held.request));
  }

  async #inFlight(kill: Kill, held: HeldReply, run?: MarkerRun): Promise<Killed> {
    const upMs = performance.now() - this.#launchedAt;
    let replied = false;
    void held.reply.then((reply) => (replied = reply !== null));
    if (kill.kind === 'replied') await held.reply;
    else if (kill.kind === 'frozen' && run !== undefined) this.#awaitInside(run, kill.waitMs / MOST_WAIT_MS);
    else await sleep(kill.waitMs);
    const seen = { inFlight: true, upMs, replied: () => replied, markers: run?.markers ?? 0 };
    if (kill.kind !== 'frozen') return this.#end(kill, seen);
    return this.#withBrokerStopped(kill, async () => {
      const partial = run !== undefined && this.#isPartial(run);
      return this.#end(kill, { ...seen, partial });
    });
  }

  #late(kill: Kill, held: HeldRequest): Promise<Killed> {
    const upMs = performance.now() - this.#launchedAt;
    return this.#withBrokerStopped(kill, async () => {
      await held.forward();
      return this.#end(kill, { inFlight: true, upMs });
    });
  }

  /** The broker goes on while the next instance starts. */
  async #withBrokerStopped(kill: Kill, end: () => Promise<Killed>): Promise<Killed> {
    const { broker } = this.#options;
    broker.pause();
    try {
      const killed = await end();
      this.launch();
      await sleep(kill.frozenMs);
      return killed;
    } finally {
      broker.resume();
    }
  }

  async #end(kill: Kill, seen: Seen = {}): Promise<Killed> {
    const { inFlight = false, markers = 0, replied, partial = false, upMs = null } = seen;
    // Asked before the signal: after it, what the proxy still takes in says nothing about the moment.
    const answered = replied?.() ?? false;
    this.#killing = true;
    await this.#options.isthmus.kill();
    return { kind: kill.kind, inFlight, markers, replied: answered, partial, upMs };
  }

  #isOurs(topic: string): boolean {
    return topic === this.#options.topic || topic === this.#options.topicId;
  }

  #longest(request: SeenRequest): MarkerRun | undefined {
    const runs = readMarkers(request).filter(({ topic }) => topic === this.#options.topic);
    return runs.toSorted((a, b) => b.markers - a.markers)[0];
  }

  /** Looks without a pause until this share of the run is stored: the broker needs well below a millisecond for each. */
  #awaitInside({ topic, partition, first, last }: MarkerRun, share: number): void {
    const enough = first + Math.floor(share * 0.6 * (last - first));
    const deadline = performance.now() + INSIDE_MS;
    while (lastMarkerOffset(this.#options.broker.logDir, topic, partition) < enough) {
      if (performance.now() > deadline) return;
    }
  }

  #isPartial({ topic, partition, first, last }: MarkerRun): boolean {
    const end = lastMarkerOffset(this.#options.broker.logDir, topic, partition);
    return first >= 0 && end >= first && end < last;
  }
}

interface Seen {
  readonly inFlight?: boolean;
  readonly markers?: number;
  readonly replied?: () => boolean;
  readonly partial?: boolean;
  readonly upMs?: number | null;
}
