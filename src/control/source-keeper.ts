import type { LinkHooks } from '../link/ports.ts';
import { syncError } from '../observe/channels.ts';
import { Backoff } from './backoff.ts';
import type { LinkPort, SourceSession, Surroundings } from './ports.ts';
import type { MirrorRecord } from './state/types.ts';
import { textOf } from '../net/error-text.ts';

/**
 * The source of one mirror while it runs: opened when wanted, tried again with back-off while it can't be reached.
 * A source that is down never fails a mirror; it is the mirror's passing error.
 */
export class SourceKeeper {
  readonly #surroundings: Surroundings;
  readonly #mirror: MirrorRecord;
  readonly #backoff = new Backoff(500, 15_000);
  #session: SourceSession | null = null;
  #link: LinkPort | null = null;
  #opening: Promise<SourceSession | null> | null = null;
  #closed = false;
  #error: string | null = null;
  #wrongCluster: string | null = null;

  constructor(surroundings: Surroundings, mirror: MirrorRecord) {
    this.#surroundings = surroundings;
    this.#mirror = mirror;
  }

  get session(): SourceSession | null {
    return this.#session;
  }

  /** Why there is no session, null when there is one or nobody asked. */
  get error(): string | null {
    return this.#error;
  }

  /** Set when the source answers as another cluster: its topics fail for good (KIP-1279), until `recover` exists. */
  get wrongCluster(): string | null {
    return this.#wrongCluster;
  }

  get link(): LinkPort | null {
    return this.#link;
  }

  /** The session, or null while the source does not answer; at most one attempt at a time, spaced by back-off. */
  async open(): Promise<SourceSession | null> {
    if (this.#session !== null || this.#closed) return this.#session;
    if (this.#opening !== null) return this.#opening;
    if (!this.#backoff.isDue('source', this.#surroundings.now())) return null;
    this.#opening = this.#open().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  /** The link on that session; made at the first call. */
  linkWith(session: SourceSession, hooks: LinkHooks): LinkPort {
    this.#link ??= session.openLink(hooks);
    return this.#link;
  }

  async #open(): Promise<SourceSession | null> {
    const { name, source, sourceClusterId } = this.#mirror;
    let session: SourceSession | null = null;
    try {
      session = await this.#surroundings.openSource(name, source);
      const found = await session.admin.clusterId();
      if (found !== sourceClusterId) {
        this.#wrongCluster =
          `source ${source} answers with cluster id ${found}; mirror ${name} was created for ${sourceClusterId}: ` +
          `put bootstrap.servers of ${source} right; what failed by it can be failed over, or deleted and mirrored anew`;
        throw new Error(this.#wrongCluster);
      }
      if (this.#closed) throw new Error('closed');
      this.#wrongCluster = null;
      this.#error = null;
      this.#backoff.worked('source');
      this.#session = session;
      return session;
    } catch (error) {
      await session?.close();
      this.#error = textOf(error);
      const attempts = this.#backoff.failed('source', this.#surroundings.now());
      if (attempts === 1) syncError.publish({ mirror: name, task: 'source', message: this.#error });
      return null;
    }
  }

  /** Closes link and session. */
  async close(): Promise<void> {
    this.#closed = true;
    // One that is being opened still is closed by its opener: a source that is silent must not delay a clean end.
    await this.#link?.close();
    await this.#session?.close();
  }
}
