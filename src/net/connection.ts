import type { AnyApi, RequestInput, ResponseOf } from '../../protocol/schema/api.ts';
import { decodeResponse, encodeRequestChunks } from '../../protocol/frame/messages.ts';
import { CallTimeoutError, type CloseCause, ConnectionClosedError } from './close-cause.ts';
import { FramedSocket } from './framed-socket.ts';
import { learnVersions, type VersionRange } from './handshake.ts';
import { Fifo } from './fifo.ts';
import { textOf } from './error-text.ts';

export type { VersionRange } from './handshake.ts';

/**
 * Client side of one broker connection: requests leave in the order of the calls, answers come in the same order
 * (Kafka promises that per connection), each checked by its correlation id.
 *
 * It has no request time-out that closes it: a broker may still act on a request whose connection we closed
 * (DESIGN 5.5 rule 3). `call(..., { timeoutMs })` gives up the answer only; `oldestPendingSince` shows the age.
 */
export interface BrokerConnectOptions {
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  /** For the TCP connection and again for the ApiVersions exchange. Default 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Largest response accepted. Default 128 MiB. */
  readonly frameCapBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CallOptions {
  /** Exactly this version instead of the highest common one. */
  readonly version?: number | undefined;
  /** Highest version to choose. */
  readonly maxVersion?: number | undefined;
  /** The promise rejects with CallTimeoutError after so long; the connection stays. */
  readonly timeoutMs?: number | undefined;
}

/** Exactly one of the two is not null; both are null for a request without reply whose bytes have left. */
export type ReplyHandler = (error: ConnectionClosedError | null, frame: Buffer | null) => void;

interface Pending {
  readonly correlationId: number;
  readonly onReply: ReplyHandler;
  readonly since: number;
  /** Value of `flushes` at submission when older bytes were still queued, else -1: it has begun. */
  readonly behindFlush: number;
  readonly allocate: ((size: number) => Buffer) | undefined;
}

export class UnsupportedVersionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnsupportedVersionError';
  }
}

const DEFAULT_CAP = 128 * 1024 * 1024;
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
const SMALLEST_RESPONSE = 4;

export class BrokerConnection {
  readonly clientId: string;
  readonly #socket: FramedSocket;
  readonly #pending = new Fifo<Pending>();
  #versions: ReadonlyMap<number, VersionRange> = new Map();
  #features: ReadonlyMap<string, VersionRange> = new Map();
  #nextCorrelationId = 1;
  #cause: CloseCause | null = null;
  #detail = '';
  #drainWaiters: (() => void)[] = [];
  #opened: ((error: ConnectionClosedError | null) => void) | null = null;
  readonly closed: Promise<CloseCause>;
  #resolveClosed: (cause: CloseCause) => void;

  /**
   * Opens the connection and learns the broker's versions.
   * @throws ConnectionClosedError when the broker can't be reached or answers ApiVersions wrongly
   */
  static async connect(options: BrokerConnectOptions): Promise<BrokerConnection> {
    const connection = new BrokerConnection(options);
    const abort = (): void => connection.end('local-close', 'given up');
    options.signal?.addEventListener('abort', abort, { once: true });
    if (options.signal?.aborted === true) abort();
    try {
      await connection.#whenOpen();
      await connection.#handshake(options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS);
    } catch (error) {
      connection.end('handshake-failed', textOf(error));
      throw error;
    } finally {
      options.signal?.removeEventListener('abort', abort);
    }
    return connection;
  }

  private constructor(options: BrokerConnectOptions) {
    this.clientId = options.clientId;
    let resolveClosed: (cause: CloseCause) => void = () => undefined;
    this.closed = new Promise((resolve) => {
      resolveClosed = resolve;
    });
    this.#resolveClosed = resolveClosed;
    this.#socket = FramedSocket.connect(
      {
        host: options.host,
        port: options.port,
        connectTimeoutMs: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
        frameCapBytes: options.frameCapBytes ?? DEFAULT_CAP,
        smallestFrame: SMALLEST_RESPONSE,
        allocateFrame: (size) => this.#pending.peek()?.allocate?.(size) ?? Buffer.allocUnsafe(size),
      },
      {
        onFrame: (frame) => this.#onFrame(frame),
        onDrain: () => this.#onDrain(),
        onClosed: (cause, detail) => this.#onClosed(cause, detail),
      },
      () => this.#opened?.(null),
    );
  }

  /** `host:port`. */
  get peer(): string {
    return this.#socket.peer;
  }

  get versions(): ReadonlyMap<number, VersionRange> {
    return this.#versions;
  }

  /** Features that the broker supports (`metadata.version` only with KRaft); empty before ApiVersions 3. */
  get features(): ReadonlyMap<string, VersionRange> {
    return this.#features;
  }

  get state(): 'connecting' | 'open' | 'closing' | 'closed' {
    return this.#socket.state;
  }

  get isOpen(): boolean {
    return this.#socket.state === 'open';
  }

  /** Name of the end, null while it lives. */
  get closeCause(): CloseCause | null {
    return this.#cause;
  }

  get closeDetail(): string {
    return this.#detail;
  }

  /** Requests without an answer yet. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Monotonic ms (performance.now) at which the oldest unanswered request was given to us, or null. */
  get oldestPendingSince(): number | null {
    return this.#pending.peek()?.since ?? null;
  }

  /** Bytes of received but undelivered frames. */
  get bytesBuffered(): number {
    return this.#socket.bytesBuffered;
  }

  /** Bytes of requests that the system has not taken yet. */
  get bytesToWrite(): number {
    return this.#socket.bytesToWrite;
  }

  get writableNeedDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** Resolves when what was written has been taken by the system, or the connection has ended. */
  drained(): Promise<void> {
    if (!this.writableNeedDrain || !this.isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#drainWaiters.push(resolve));
  }

  pauseReading(): void {
    this.#socket.pauseReading();
  }

  resumeReading(): void {
    this.#socket.resumeReading();
  }

  /** Highest version both sides know, or null when there is none. */
  commonVersion(api: AnyApi, maxVersion: number = api.max): number | null {
    const range = this.#versions.get(api.key);
    if (range === undefined) return null;
    const version = Math.min(api.max, range.max, maxVersion);
    return version >= Math.max(api.min, range.min) ? version : null;
  }

  /**
   * Sends one request and decodes its answer.
   * @throws UnsupportedVersionError when there is no common version
   * @throws ConnectionClosedError when the connection ends first; `sentBytes` tells whether it may have been read
   * @throws CallTimeoutError after `timeoutMs`; the connection stays and the late answer is dropped
   */
  call<A extends AnyApi>(api: A, body: RequestInput<A>, options: CallOptions = {}): Promise<ResponseOf<A>> {
    const chosen = options.version ?? this.commonVersion(api, options.maxVersion);
    if (chosen === null) {
      const range = this.#versions.get(api.key);
      const theirs = range === undefined ? 'does not know it' : `knows versions ${range.min} to ${range.max}`;
      const ours = `${api.min} to ${Math.min(api.max, options.maxVersion ?? api.max)}`;
      return Promise.reject(
        new UnsupportedVersionError(`${api.name}: we need ${ours}, ${this.peer} ${theirs}`),
      );
    }
    return new Promise<ResponseOf<A>>((resolve, reject) => {
      const request = encodeRequestChunks(api, chosen, 0, this.clientId, body);
      let timer: NodeJS.Timeout | null = null;
      if (options.timeoutMs !== undefined) {
        timer = setTimeout(() => {
          timer = null;
          reject(new CallTimeoutError(api.name, this.peer, options.timeoutMs ?? 0));
        }, options.timeoutMs);
      }
      this.sendRaw(request, true, (error, frame) => {
        if (timer !== null) clearTimeout(timer);
        if (frame === null) {
          reject(error ?? new Error('no answer'));
          return;
        }
        try {
          resolve(decodeResponse(api, chosen, frame));
        } catch (fault) {
          const why = textOf(fault);
          reject(
            new Error(`${api.name} v${chosen} answer of ${this.peer} can't be read: ${why}`, {
              cause: fault,
            }),
          );
        }
      });
    });
  }

  /**
   * The hot path. `chunks` are one whole request, its first chunk beginning with
   * `int32 size, int16 key, int16 version, int32 correlation id`; size and correlation id are filled in here, in
   * place. Chunks are written without a copy: leave them alone until `onReply`.
   *
   * `onReply` is called exactly once, never inside this call: with the answer's frame (from the correlation id on;
   * its buffer is the receiver's, or the one `allocateFrame` gave), or with the error that ended the connection, at
   * which time no chunk is read any more.
   * @returns the correlation id
   */
  sendRaw(
    chunks: readonly Uint8Array[],
    expectReply: boolean,
    onReply: ReplyHandler,
    allocateFrame?: (size: number) => Buffer,
  ): number {
    const correlationId = this.#nextCorrelationId;
    this.#nextCorrelationId = correlationId === 0x7fffffff ? 0 : correlationId + 1;
    if (!this.isOpen) {
      const error = new ConnectionClosedError(this.#cause ?? 'local-close', this.#detail, this.peer, false);
      queueMicrotask(() => onReply(error, null));
      return correlationId;
    }
    let size = -4;
    for (const chunk of chunks) size += chunk.length;
    const first = chunks[0] as Uint8Array;
    writeInt32(first, 0, size);
    writeInt32(first, 8, correlationId);
    const entry: Pending = {
      correlationId,
      onReply,
      since: performance.now(),
      behindFlush: this.#socket.bytesToWrite > 0 ? this.#socket.flushes : -1,
      allocate: allocateFrame,
    };
    if (expectReply) {
      this.#pending.push(entry);
      this.#socket.write(chunks);
    } else {
      this.#sendUnanswered(chunks, entry);
    }
    return correlationId;
  }

  /** Ends at once. Pending calls reject with ConnectionClosedError. */
  end(cause: CloseCause = 'local-close', detail = ''): void {
    this.#socket.end(cause, detail);
  }

  #sendUnanswered(chunks: readonly Uint8Array[], entry: Pending): void {
    let told = false;
    const tell = (error: ConnectionClosedError | null): void => {
      if (told) return;
      told = true;
      this.#unanswered.delete(fail);
      entry.onReply(error, null);
    };
    const fail = (cause: CloseCause, detail: string): void =>
      tell(new ConnectionClosedError(cause, detail, this.peer, this.#hasBegun(entry)));
    this.#unanswered.add(fail);
    this.#socket.write(chunks, () => tell(null));
  }
  readonly #unanswered = new Set<(cause: CloseCause, detail: string) => void>();

  #hasBegun(entry: Pending): boolean {
    return entry.behindFlush === -1 || this.#socket.flushes > entry.behindFlush;
  }

  #whenOpen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opened = (error) => {
        this.#opened = null;
        if (error === null) resolve();
        else reject(error);
      };
    });
  }

  async #handshake(timeoutMs: number): Promise<void> {
    const timer = setTimeout(
      () => this.end('handshake-timeout', `no answer to ApiVersions within ${timeoutMs} ms`),
      timeoutMs,
    );
    try {
      const learnt = await learnVersions(this);
      this.#versions = learnt.versions;
      this.#features = learnt.features;
    } finally {
      clearTimeout(timer);
    }
  }

  #onFrame(frame: Buffer): void {
    const entry = this.#pending.shift();
    const correlationId = frame.readInt32BE(0);
    if (entry === undefined) {
      this.#socket.end(
        'unasked-response',
        `a response with correlation id ${correlationId} was not asked for`,
      );
      return;
    }
    if (entry.correlationId !== correlationId) {
      this.#pending.unshift(entry);
      this.#socket.end(
        'correlation-mismatch',
        `response ${correlationId} came while ${entry.correlationId} was the oldest request`,
      );
      return;
    }
    entry.onReply(null, frame);
  }

  #onDrain(): void {
    const waiters = this.#drainWaiters;
    this.#drainWaiters = [];
    for (const resolve of waiters) resolve();
  }

  #onClosed(cause: CloseCause, detail: string): void {
    this.#cause = cause;
    this.#detail = detail;
    this.#opened?.(new ConnectionClosedError(cause, detail, this.peer, false));
    this.#onDrain();
    for (let entry = this.#pending.shift(); entry !== undefined; entry = this.#pending.shift()) {
      entry.onReply(new ConnectionClosedError(cause, detail, this.peer, this.#hasBegun(entry)), null);
    }
    for (const fail of this.#unanswered) fail(cause, detail);
    this.#resolveClosed(cause);
  }
}

function writeInt32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}
