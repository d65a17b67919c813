import { connect, type Socket } from 'node:net';
import type { CloseCause } from './close-cause.ts';
import { FrameAssembler } from './frame-assembler.ts';
import { IdleWatch } from './idle-watch.ts';

/**
 * A TCP socket that speaks Kafka frames, whichever side opened it: frames in as single buffers, chunks out without a
 * copy, back-pressure both ways, and a named end. It knows nothing of requests and answers.
 *
 *   connecting --> open --> closing --> closed      (any of them --> closed when the peer or the network ends it)
 *
 * Memory held by one socket: the frame being read (<= frame cap), the rest of one read while paused (<= 64 KiB), and
 * what was written and not yet taken by the system (`bytesToWrite`); the owner bounds the last by waiting for `onDrain`.
 */
export type FramedState = 'connecting' | 'open' | 'closing' | 'closed';

export interface FramedHandlers {
  /** One whole frame without its size field. The buffer belongs to the receiver. */
  onFrame(frame: Buffer): void;
  /** What was written has left for the system after `write` said stop. */
  onDrain?(): void;
  /** true: the peer waits for an answer, so that its silence is none. */
  owesAnswer?(): boolean;
  /** Called once, after which no buffer given to `write` is read any more. */
  onClosed(cause: CloseCause, detail: string): void;
}

export interface FramedOptions {
  readonly frameCapBytes: number;
  /** Smallest frame that can be one: 8 for requests, 4 for responses. */
  readonly smallestFrame: number;
  readonly allocateFrame?: ((size: number) => Buffer) | undefined;
  /** Closes the connection when nothing was read for so long, and no answer is owed; 0 or absent = never. */
  readonly idleTimeoutMs?: number | undefined;
}

export interface ConnectOptions extends FramedOptions {
  readonly host: string;
  readonly port: number;
  readonly connectTimeoutMs: number;
}

const KEEP_ALIVE_DELAY_MS = 30_000;
const GRACE_MS = 5_000;

export class FramedSocket {
  /** `host:port` of the other side, for texts. */
  readonly peer: string;
  readonly #socket: Socket;
  readonly #assembler: FrameAssembler;
  readonly #handlers: FramedHandlers;
  #state: FramedState;
  #cause: CloseCause | null = null;
  #detail = '';
  /** Of the connect time-out, then of an end in order. */
  #timer: NodeJS.Timeout | null = null;
  readonly #idle: IdleWatch;
  #bytesRead = 0;
  #flushes = 0;

  /** Opens a connection. Frames may be written at once; they leave when the connection stands. */
  static connect(options: ConnectOptions, handlers: FramedHandlers, onOpen?: () => void): FramedSocket {
    let self: FramedSocket | null = null;
    const assembler = FramedSocket.#assemblerFor(options, () => self);
    const socket = connect({
      host: options.host,
      port: options.port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
      onread: {
        buffer: () => assembler.target(),
        callback: (count: number): boolean => {
          if (self !== null) self.#read(count);
          assembler.filled(count);
          return !assembler.paused;
        },
      },
    });
    const made = new FramedSocket(socket, assembler, handlers, `${bracketed(options.host)}:${options.port}`);
    self = made;
    made.#state = 'connecting';
    made.#timer = setTimeout(() => {
      made.end('connect-timeout', `no connection within ${options.connectTimeoutMs} ms`);
    }, options.connectTimeoutMs);
    socket.once('connect', () => {
      if (made.#state !== 'connecting') return;
      made.#state = 'open';
      made.#clearTimer();
      made.#idle.start(options.idleTimeoutMs ?? 0);
      onOpen?.();
    });
    return made;
  }

  /** Takes over an accepted socket. Its chunks are fresh buffers, so frames inside one are views. */
  static accept(socket: Socket, options: FramedOptions, handlers: FramedHandlers): FramedSocket {
    let self: FramedSocket | null = null;
    const assembler = FramedSocket.#assemblerFor(options, () => self);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
    const peer = `${bracketed(socket.remoteAddress ?? 'unknown')}:${socket.remotePort ?? 0}`;
    const made = new FramedSocket(socket, assembler, handlers, peer);
    self = made;
    socket.on('data', (chunk: Buffer) => {
      made.#read(chunk.length);
      assembler.push(chunk);
    });
    made.#idle.start(options.idleTimeoutMs ?? 0);
    return made;
  }

  static #assemblerFor(options: FramedOptions, self: () => FramedSocket | null): FrameAssembler {
    return new FrameAssembler({
      cap: options.frameCapBytes,
      smallest: options.smallestFrame,
      ...(options.allocateFrame === undefined ? {} : { allocate: options.allocateFrame }),
      onFrame: (frame) => {
        const owner = self();
        if (owner !== null) owner.#deliver(frame);
      },
      onFault: (fault) => self()?.end(fault.kind, fault.detail),
    });
  }

  private constructor(socket: Socket, assembler: FrameAssembler, handlers: FramedHandlers, peer: string) {
    this.#socket = socket;
    this.#assembler = assembler;
    this.#handlers = handlers;
    this.peer = peer;
    this.#state = 'open';
    this.#idle = new IdleWatch({
      get readingPaused() {
        return assembler.paused;
      },
      owesAnswer: () => handlers.owesAnswer?.() === true,
      onIdle: (detail) => this.end('idle-timeout', detail),
    });
    socket.on('drain', () => this.#handlers.onDrain?.());
    socket.on('end', () => {
      const cut = assembler.atFrameEdge ? '' : 'in the middle of a frame';
      this.#note('peer-closed', cut);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? error.name;
      // with several addresses behind a name node gives an AggregateError that has no text of its own
      const text = error.message === '' ? code : error.message;
      if (this.#state === 'connecting') this.#note('connect-failed', text);
      else this.#note(`socket-error:${code}`, text);
    });
    socket.on('close', () => {
      this.#clearTimer();
      this.#state = 'closed';
      assembler.stop();
      this.#handlers.onClosed(this.#cause ?? 'peer-closed', this.#detail);
    });
  }

  get state(): FramedState {
    return this.#state;
  }

  /** Bytes of received but undelivered frames. */
  get bytesBuffered(): number {
    return this.#assembler.bytesBuffered;
  }

  /** Bytes written by us that the system has not taken yet. */
  get bytesToWrite(): number {
    return this.#socket.writableLength;
  }

  /** true after `write` said stop and until `onDrain`. */
  get writableNeedDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** How many times everything given so far was taken by the system. Tells whether a queued write has begun. */
  get flushes(): number {
    return this.#flushes;
  }

  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  /**
   * Writes chunks in order as one gathered write, without copying: they may not be changed until an answer to them
   * has come, `onFlushed` is called, or the connection has closed.
   * @returns false when the writer should wait for `onDrain` (the chunks were taken all the same)
   */
  write(chunks: readonly Uint8Array[], onFlushed?: () => void): boolean {
    if (this.#state === 'closing' || this.#state === 'closed') return false;
    const socket = this.#socket;
    const flushed = (error?: Error | null): void => {
      if (error) return;
      this.#flushes += 1;
      onFlushed?.();
    };
    const last = chunks.length - 1;
    if (last === 0) return socket.write(chunks[0] as Uint8Array, flushed);
    socket.cork();
    let more = true;
    for (let i = 0; i <= last; i += 1) {
      more =
        i === last ? socket.write(chunks[i] as Uint8Array, flushed) : socket.write(chunks[i] as Uint8Array);
    }
    socket.uncork();
    return more;
  }

  /** Nothing is delivered until `resumeReading`; the peer feels it once the system's buffers are full. */
  pauseReading(): void {
    if (this.#assembler.paused || this.#state === 'closing') return;
    this.#assembler.pause();
    this.#socket.pause();
  }

  resumeReading(): void {
    if (!this.#assembler.paused) return;
    this.#assembler.resume();
    if (!this.#assembler.paused && this.#state !== 'closed') {
      this.#idle.touch();
      this.#socket.resume();
    }
  }

  get readingPaused(): boolean {
    return this.#assembler.paused;
  }

  /** Ends at once: what was not yet taken by the system is dropped. */
  end(cause: CloseCause, detail = ''): void {
    if (this.#state === 'closed') return;
    this.#note(cause, detail);
    this.#state = 'closing';
    this.#assembler.stop();
    this.#clearTimer();
    this.#socket.destroy();
  }

  /**
   * Ends in order: no more frames are delivered, what was written is still sent, and what comes is read and dropped until
   * the peer ends too, all for at most `graceMs`. A socket closed with bytes unread is reset by the system, which then
   * drops whatever the peer has not taken yet. Where nothing hangs on that, `forPeer` false does not wait for the peer.
   */
  endAfterWrites(cause: CloseCause, detail = '', graceMs = GRACE_MS, forPeer = true): void {
    if (this.#state === 'closed' || this.#state === 'closing') return;
    this.#note(cause, detail);
    this.#state = 'closing';
    this.#assembler.stop();
    this.#clearTimer();
    this.#socket.resume();
    if (forPeer) this.#socket.end();
    else this.#socket.end(() => this.#socket.destroy());
    this.#timer = setTimeout(() => this.#socket.destroy(), graceMs);
    this.#timer.unref();
  }

  #deliver(frame: Buffer): void {
    try {
      this.#handlers.onFrame(frame);
    } catch (error) {
      this.end('internal-error', error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  }

  #read(count: number): void {
    this.#bytesRead += count;
    this.#idle.touch();
  }

  // The first name given stays: an error after our own end is only its echo.
  #note(cause: CloseCause, detail: string): void {
    if (this.#cause !== null) return;
    this.#cause = cause;
    this.#detail = detail;
  }

  #clearTimer(): void {
    this.#idle.stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
