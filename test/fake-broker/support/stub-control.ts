import type {
  Freshness,
  GuardedTopic,
  KnownBarrier,
  MirrorRoleGrant,
  MirrorRolePort,
  MirrorView,
  VerbCall,
  VerbPort,
} from '../../../src/gateway/ports.ts';

/** The mirrors' state as a test says it is. */
export class StubView implements MirrorView {
  state: Freshness = 'fresh';
  readonly stateTopic = '__mirror_state';
  readonly #topics = new Map<string, GuardedTopic>();
  readonly #barriers = new Map<string, KnownBarrier[]>();
  #loaded = Promise.withResolvers<void>();

  freshness(): Freshness {
    return this.state;
  }

  whenLoaded(): Promise<void> {
    return this.#loaded.promise;
  }

  load(state: Freshness = 'fresh'): void {
    this.state = state;
    this.#loaded.resolve();
  }

  /** A mirror topic; partitions in `stopped` are writable, `stopped: 'all'` makes it an ordinary topic again. */
  mirrored(
    name: string,
    options: {
      stopped?: readonly number[] | 'all';
      mirror?: string;
      source?: string;
      settingsPending?: boolean;
    } = {},
  ): this {
    const stopped = options.stopped ?? [];
    this.#topics.set(name, {
      name,
      mirror: options.mirror ?? 'east-to-west',
      source: options.source ?? 'east',
      isReadOnly: (partition) => stopped !== 'all' && !stopped.includes(partition),
      readOnly: stopped !== 'all',
      settingsPending: options.settingsPending ?? false,
      stateOf: (partition) => (stopped === 'all' || stopped.includes(partition) ? 'STOPPED' : 'MIRRORING'),
    });
    return this;
  }

  barrier(topic: string, partition: number, barrier: KnownBarrier): this {
    const key = `${topic}/${partition}`;
    this.#barriers.set(key, [...(this.#barriers.get(key) ?? []), barrier]);
    return this;
  }

  topic(name: string): GuardedTopic | undefined {
    return this.#topics.get(name);
  }

  barriers(topic: string, partition: number): readonly KnownBarrier[] {
    return this.#barriers.get(`${topic}/${partition}`) ?? [];
  }

  get anyBarrier(): boolean {
    return this.#barriers.size > 0;
  }
}

export class StubVerbs implements VerbPort {
  readonly calls: VerbCall[] = [];
  answer: (call: VerbCall) => unknown = () => ({});

  async handle(call: VerbCall): Promise<unknown> {
    this.calls.push(call);
    return await this.answer(call);
  }
}

/** Grants as an owner would: the expected offset moves on with each accepted append. */
export class StubMirrorRole implements MirrorRolePort {
  readonly ends = new Map<string, number>();
  readonly failures: string[] = [];
  readonly appends: string[] = [];
  /** How often each partition's appends began and ended. */
  readonly begun = new Map<string, number>();
  readonly ended = new Map<string, number>();
  refusal: MirrorRoleGrant | null = null;

  grant(_mirror: string, topic: string, partition: number): MirrorRoleGrant {
    return this.refusal ?? { kind: 'owned', expectedOffset: this.ends.get(`${topic}/${partition}`) ?? 0 };
  }

  begins(_mirror: string, topic: string, partition: number): void {
    count(this.begun, `${topic}/${partition}`);
  }

  notStored(_mirror: string, topic: string, partition: number): void {
    count(this.ended, `${topic}/${partition}`);
  }

  appended(mirror: string, topic: string, partition: number, baseOffset: number, records: number): void {
    count(this.ended, `${topic}/${partition}`);
    this.appends.push(`${mirror} ${topic}/${partition} ${baseOffset}+${records}`);
    this.ends.set(`${topic}/${partition}`, baseOffset + records);
  }

  failed(_mirror: string, topic: string, partition: number, message: string): void {
    count(this.ended, `${topic}/${partition}`);
    this.failures.push(message);
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
