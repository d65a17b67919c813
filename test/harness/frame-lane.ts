import type { Socket } from 'node:net';

export interface LaneEntry {
  readonly bytes: Buffer;
  /** Not before this moment, of `performance.now()`. */
  readonly due: number;
  /** Stays where it is while true, and all behind it. */
  held: boolean;
  /** Called when the bytes are with the operating system. */
  written?: () => void;
}

/** Frames on their way in one direction: in order, each after its delay, none before one that is held. */
export class FrameLane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #entries: LaneEntry[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(from: Socket, to: Socket) {
    this.#from = from;
    this.#to = to;
    to.on('drain', () => from.resume());
  }

  add(entry: LaneEntry): void {
    this.#entries.push(entry);
    this.pump();
  }

  pump(): void {
    clearTimeout(this.#timer);
    for (;;) {
      const entry = this.#entries[0];
      if (entry === undefined || entry.held || this.#closed) return;
      const early = entry.due - performance.now();
      if (early > 0) {
        this.#timer = setTimeout(() => this.pump(), Math.ceil(early));
        return;
      }
      this.#entries.shift();
      const more = this.#to.write(entry.bytes, (error) => {
        if (!error) entry.written?.();
      });
      if (!more) this.#from.pause();
    }
  }

  /** Drops what has not been written. */
  close(): void {
    this.#closed = true;
    this.#entries.length = 0;
    clearTimeout(this.#timer);
  }
}
