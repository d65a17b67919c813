import { linkFailure, nameOf } from './failure.ts';
import type { MirrorPartition } from './partition.ts';
import type { LinkFailure, LinkHooks } from './ports.ts';
import { textOf } from '../net/error-text.ts';

/** The first raises the limit, the others wait until the broker heeds it: about five seconds. */
const TRIES = 7;

/** `max.message.bytes` of the destination's topics, raised for batches that are larger (DESIGN 5.5 rule 4). */
export class TopicLimits {
  readonly #hooks: Pick<LinkHooks, 'raiseMaxMessageBytes'>;
  /** What this link asked for: one partition must not take away what another needs. */
  readonly #raisedTo = new Map<string, number>();

  constructor(hooks: Pick<LinkHooks, 'raiseMaxMessageBytes'>) {
    this.#hooks = hooks;
  }

  /** @returns what is waited for before the batch is sent again, or why it never will be */
  async raise(partition: MirrorPartition, offset: number, bytes: number): Promise<string | LinkFailure> {
    const { topic } = partition.ref;
    if (partition.raises >= TRIES || this.#hooks.raiseMaxMessageBytes === undefined) {
      const message = `${nameOf(partition.ref)}: the batch at source offset ${offset} has ${bytes} bytes, more than max.message.bytes of the destination topic; raise it to at least ${bytes}`;
      return linkFailure('refused-by-broker', message, offset, true);
    }
    const wanted = Math.max(bytes, this.#raisedTo.get(topic) ?? 0);
    this.#raisedTo.set(topic, wanted);
    // a broker hears of it a moment after its controller has answered
    if (partition.raises > 0) {
      partition.raises += 1;
      return `max.message.bytes of ${topic} was raised to ${wanted}, and is not heeded yet`;
    }
    const doing = `raising max.message.bytes of ${topic} to ${wanted}`;
    partition.appendError = doing;
    try {
      await this.#hooks.raiseMaxMessageBytes(topic, wanted);
      partition.raises = 1;
      return doing;
    } catch (error) {
      return `max.message.bytes of ${topic}: ${textOf(error)}`;
    }
  }
}
