import type {
  Freshness,
  GuardedTopic,
  KnownBarrier,
  MirrorRoleGrant,
  MirrorRolePort,
  MirrorView,
  VerbCall,
  VerbPort,
} from '../gateway/ports.ts';

interface Parts {
  readonly view: MirrorView;
  readonly verbs: VerbPort;
  readonly mirrorRole: MirrorRolePort;
}

/**
 * What a gateway is given before its destination could be reached: it binds its ports at once and lets what the
 * guard decides wait until the first full read of the state.
 */
export class LateControl {
  stateTopic = '';
  readonly #arrival = Promise.withResolvers<Parts>();
  #parts: Parts | null = null;
  #loaded: Promise<void> | null = null;

  constructor() {
    this.#arrival.promise.catch(() => undefined);
  }

  arrived(parts: Parts): void {
    this.#parts = parts;
    this.#arrival.resolve(parts);
  }

  /** Lets go of whoever waits still. */
  close(): void {
    this.#arrival.reject(new Error('Isthmus is stopping'));
  }

  readonly view: MirrorView = lateView(this, () => this.#parts);

  readonly verbs: VerbPort = {
    handle: async (call: VerbCall): Promise<unknown> => (await this.#arrival.promise).verbs.handle(call),
  };

  readonly mirrorRole: MirrorRolePort = {
    grant: (mirror, topic, partition): MirrorRoleGrant =>
      this.#parts?.mirrorRole.grant(mirror, topic, partition) ?? {
        kind: 'not-leader',
        message: 'the state was not read yet',
      },
    begins: (mirror, topic, partition) => this.#parts?.mirrorRole.begins(mirror, topic, partition),
    notStored: (mirror, topic, partition) => this.#parts?.mirrorRole.notStored(mirror, topic, partition),
    appended: (mirror, topic, partition, baseOffset, count) => {
      this.#parts?.mirrorRole.appended(mirror, topic, partition, baseOffset, count);
    },
    failed: (mirror, topic, partition, message) => {
      this.#parts?.mirrorRole.failed(mirror, topic, partition, message);
    },
  };

  /** The same promise for all who wait: each one more would stay until the arrival, however long that takes. */
  whenLoaded(): Promise<void> {
    this.#loaded ??= this.#arrival.promise.then(({ view }) => view.whenLoaded());
    return this.#loaded;
  }
}

function lateView(late: LateControl, parts: () => Parts | null): MirrorView {
  return {
    get stateTopic(): string {
      return late.stateTopic;
    },
    get anyBarrier(): boolean {
      return parts()?.view.anyBarrier ?? false;
    },
    freshness: (topic?: string, partition?: number): Freshness =>
      parts()?.view.freshness(topic, partition) ?? 'loading',
    whenLoaded: () => late.whenLoaded(),
    topic: (name: string): GuardedTopic | undefined => parts()?.view.topic(name),
    barriers: (topic: string, partition: number): readonly KnownBarrier[] =>
      parts()?.view.barriers(topic, partition) ?? [],
  };
}
