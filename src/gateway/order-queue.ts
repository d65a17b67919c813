import { Fifo } from '../net/fifo.ts';
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
  #bytesWaiting = 0;

  constructor(handlers: OrderHandlers) {
    this.#handlers = handlers;
  }

  /** Requests that wait for their answer to leave. */
  get size(): number {
    return this.#entries.size;
  }

  /** Bytes of answers that are made and wait for an earlier one. */
  get bytesWaiting(): number {
    return this.#bytesWaiting;
  }

  open(): Slot {
    const entry: Entry = { chunks: null, reason: null };
    this.#entries.push(entry);
    return {
      fill: (chunks) => {
        entry.chunks = chunks;
        this.#bytesWaiting += sizeOf(chunks);
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
      const chunks = head.chunks as readonly Uint8Array[];
      this.#bytesWaiting -= sizeOf(chunks);
      this.#handlers.write(chunks);
    }
    if (written && !this.#closed) this.#handlers.shrunk();
  }
}

function sizeOf(chunks: readonly Uint8Array[]): number {
  let size = 0;
  for (const chunk of chunks) size += chunk.length;
  return size;
}
