import type { CloseCause } from '../net/close-cause.ts';
import { FramedSocket } from '../net/framed-socket.ts';
import type { GatewayLimits } from './config.ts';
import { Fifo } from '../net/fifo.ts';

/**
 * The broker's side of one client connection. Kafka answers a connection's requests in order, so the oldest request
 * without an answer gets the next one; the correlation id must agree. Requests of our own (the caller's rights) share
 * the queue. The client side holds one of these and could be given another under a live client later.
 */
export interface Awaiting {
  readonly correlationId: number;
  /** The broker's answer, without its size. */
  answered(frame: Buffer): void;
  /** The connection ended first. */
  lost(why: string, sent: boolean): void;
  /** true: keep the connection until the answer, even when the client is gone. */
  readonly mustHear: boolean;
}

export interface UpstreamHandlers {
  onDrain(): void;
  /** An answer came and `mustHear` requests may be through. */
  onSettled(): void;
  onClosed(cause: CloseCause, detail: string): void;
}

export interface BrokerAddress {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
}

const SMALLEST_RESPONSE = 4;
/** How long a broker may take for what a client sent before it went. */
const LEAVING_MS = 5_000;
/** How long an address may be silent before the next one is tried beside it (case P18). */
const NEXT_ADDRESS_AFTER_MS = 300;

export class Upstream {
  readonly broker: BrokerAddress;
  readonly #socket: FramedSocket;
  readonly #awaiting = new Fifo<Awaiting>();
  #handlers: UpstreamHandlers | null = null;
  #closed: { cause: CloseCause; detail: string } | null = null;
  #sentUnanswered = false;

  private constructor(broker: BrokerAddress, limits: GatewayLimits, opened: (error: string | null) => void) {
    this.broker = broker;
    this.#socket = FramedSocket.connect(
      {
        host: broker.host,
        port: broker.port,
        connectTimeoutMs: limits.connectTimeoutMs,
        frameCapBytes: limits.maxResponseBytes,
        smallestFrame: SMALLEST_RESPONSE,
      },
      {
        onFrame: (frame) => this.#onFrame(frame),
        onDrain: () => this.#handlers?.onDrain(),
        onClosed: (cause, detail) => {
          this.#closed = { cause, detail };
          opened(`${this.#socket.peer}: ${detail === '' ? cause : `${cause} (${detail})`}`);
          for (const entry of this.#awaiting.drain()) entry.lost(`${cause} ${detail}`.trim(), true);
          this.#handlers?.onClosed(cause, detail);
        },
      },
      () => opened(null),
    );
  }

  /**
   * Connects to the first of the addresses that answers: the next is tried when one fails or is silent for a moment.
   * @throws Error naming every address that failed
   */
  static open(candidates: readonly BrokerAddress[], limits: GatewayLimits): Promise<Upstream> {
    return new Promise((resolve, reject) => {
      const faults: string[] = [];
      const tried: Upstream[] = [];
      let next = 0;
      let pending = 0;
      let timer: NodeJS.Timeout | null = null;
      let done = false;
      const attempt = (): void => {
        if (timer !== null) clearTimeout(timer);
        const broker = candidates[next];
        if (done || broker === undefined) return;
        next += 1;
        pending += 1;
        let answered = false;
        const upstream = new Upstream(broker, limits, (error) => {
          if (answered) return;
          answered = true;
          pending -= 1;
          if (done) return;
          if (error === null) {
            done = true;
            if (timer !== null) clearTimeout(timer);
            for (const other of tried) if (other !== upstream) other.end('local-close');
            resolve(upstream);
            return;
          }
          faults.push(error);
          if (next < candidates.length) attempt();
          else if (pending === 0) {
            done = true;
            reject(new Error(faults.join('; ')));
          }
        });
        tried.push(upstream);
        if (next < candidates.length) timer = setTimeout(attempt, NEXT_ADDRESS_AFTER_MS);
      };
      if (candidates.length === 0) reject(new Error('no broker is known'));
      else attempt();
    });
  }

  /** Takes over: what happened since it was opened is told at once. */
  handle(handlers: UpstreamHandlers): void {
    this.#handlers = handlers;
    if (this.#closed !== null) handlers.onClosed(this.#closed.cause, this.#closed.detail);
  }

  get peer(): string {
    return this.#socket.peer;
  }

  get isOpen(): boolean {
    return this.#socket.state === 'open';
  }

  get hasMustHear(): boolean {
    return this.#awaiting.some(({ mustHear }) => mustHear);
  }

  /** Bytes read but not delivered, and written but not taken. */
  get bytesHeld(): number {
    return this.#socket.bytesBuffered + this.#socket.bytesToWrite;
  }

  /** @returns false when the sender should wait for `onDrain` */
  send(chunks: readonly Uint8Array[], awaiting: Awaiting | null): boolean {
    if (!this.isOpen) {
      awaiting?.lost(this.#closed?.cause ?? 'local-close', false);
      return true;
    }
    if (awaiting === null) this.#sentUnanswered = true;
    else this.#awaiting.push(awaiting);
    return this.#socket.write(chunks);
  }

  pauseReading(): void {
    this.#socket.pauseReading();
  }

  resumeReading(): void {
    this.#socket.resumeReading();
  }

  end(cause: CloseCause, detail = ''): void {
    this.#socket.end(cause, detail);
  }

  /**
   * What was written still leaves. acks=0 data of a client that has gone is lost when the broker can't answer what stood
   * before it, so the broker's own end is waited for then, and only then: a Fetch may keep it busy for long.
   */
  endAfterWrites(cause: CloseCause, detail = ''): void {
    this.#socket.endAfterWrites(cause, detail, LEAVING_MS, this.#sentUnanswered);
  }

  #onFrame(frame: Buffer): void {
    const entry = this.#awaiting.peek();
    if (entry === undefined) {
      this.end('unasked-response', 'the broker sent an answer to no request');
      return;
    }
    const correlationId = frame.readInt32BE(0);
    if (correlationId !== entry.correlationId) {
      this.end(
        'correlation-mismatch',
        `an answer to ${correlationId} came where one to ${entry.correlationId} was due`,
      );
      return;
    }
    this.#awaiting.shift();
    entry.answered(frame);
    if (entry.mustHear) this.#handlers?.onSettled();
  }
}
