import { Fifo } from './fifo.ts';
import type { CloseReason } from './rule.ts';

/**
 * Responses leave in the order of their requests, whoever makes them (case P21): each request that gets an answer has
 * a slot, a filled slot waits until all before it have left. A slot may also end the connection in its turn.
 */
export interface Slot {
  fill(chunks: readonly Uint8Array[]): void;
  close(reason: CloseReason): void;
}

interface Entry {
  chunks: readonly Uint8Array[] | null;
  reason: CloseReason | null;
}

export interface OrderHandlers {
  write(chunks: readonly Uint8Array[]): void;
  close(reason: CloseReason): void;
  /** The number of open slots went down. */
  shrunk(): void;
}

export class OrderQueue {
  readonly #handlers: OrderHandlers;
  readonly #entries = new Fifo<Entry>();
  #closed = false;

  constructor(handlers: OrderHandlers) {
    this.#handlers = handlers;
  }

  /** Requests that wait for their answer to leave. */
  get size(): number {
    return this.#entries.size;
  }

  open(): Slot {
    const entry: Entry = { chunks: null, reason: null };
    this.#entries.push(entry);
    return {
      fill: (chunks) => {
        entry.chunks = chunks;
        this.#flush();
      },
      close: (reason) => {
        entry.reason = reason;
        this.#flush();
      },
    };
  }

  /** Nothing is written any more. */
  stop(): void {
    this.#closed = true;
  }

  #flush(): void {
    let written = false;
    while (!this.#closed) {
      const head = this.#entries.peek();
      if (head === undefined || (head.chunks === null && head.reason === null)) break;
      this.#entries.shift();
      if (head.reason !== null) {
        this.#closed = true;
        this.#handlers.close(head.reason);
        return;
      }
      written = true;
      this.#handlers.write(head.chunks as readonly Uint8Array[]);
    }
    if (written && !this.#closed) this.#handlers.shrunk();
  }
}
