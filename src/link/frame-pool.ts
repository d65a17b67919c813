/**
 * Buffers of source responses. A response is read straight into a buffer of the pool, its batches are patched and
 * sent from there, and the buffer is used again when the last of them is done: nothing is copied and the garbage
 * collector has nothing to do with payload.
 *
 * The budget is kept by reservation: who asks for a response reserves its greatest size first, and when it arrives the
 * memory that it really takes is booked instead. Buffers kept for later count as long as they are kept.
 */
const SMALLEST_POOLED = 64 * 1024;
/** Room for headers behind a round number of record bytes. */
const SLACK = 64 * 1024;
/** A buffer is used for an answer of an eighth of it, no smaller one: the whole buffer is booked. */
const MOST_WASTE = 8;

export class Frame {
  readonly bytes: Buffer;
  readonly #pool: FramePool;
  #holders = 1;

  constructor(pool: FramePool, bytes: Buffer) {
    this.#pool = pool;
    this.bytes = bytes;
  }

  hold(): void {
    this.#holders += 1;
  }

  /** The last release gives the buffer back: no view on it may be used any more. */
  release(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.#pool.takeBack(this);
    else if (this.#holders < 0) throw new Error('a frame was released more often than held');
  }
}

export class FramePool {
  readonly #budget: number;
  readonly #ours = new WeakSet<ArrayBufferLike>();
  readonly #free = new Map<number, ArrayBuffer[]>();
  #freeBytes = 0;
  /** Asked for and not arrived. */
  #reserved = 0;
  /** Memory of answers that somebody holds. */
  #held = 0;
  #waiting: (() => void)[] = [];

  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Bytes reserved or held. */
  get used(): number {
    return this.#reserved + this.#held;
  }

  /** Bytes kept for the next frames. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** Books `bytes` if they fit, or if nothing at all is booked. */
  tryReserve(bytes: number): boolean {
    if (this.used > 0 && this.used + bytes > this.#budget) return false;
    this.#reserved += bytes;
    return true;
  }

  unreserve(bytes: number): void {
    this.#reserved -= bytes;
    this.#wake();
  }

  /** Somebody waits for room. */
  get wanted(): boolean {
    return this.#waiting.length > 0;
  }

  /** Calls back once when bytes were given back. */
  onRoom(callback: () => void): void {
    this.#waiting.push(callback);
  }

  /** For `sendRaw`: the buffer into which a response of `size` bytes is read. */
  readonly allocate = (size: number): Buffer => {
    if (size < SMALLEST_POOLED) return Buffer.allocUnsafeSlow(size);
    const kept = this.#kept(size);
    if (kept !== undefined) return Buffer.from(kept, 0, size);
    this.#makeRoom();
    const fresh = Buffer.allocUnsafeSlow(capacityFor(size));
    this.#ours.add(fresh.buffer);
    return fresh.subarray(0, size);
  };

  /**
   * The smallest kept buffer that is large enough, also a good deal larger: answers differ in size from one to the
   * next, and a buffer that is thrown away for another one stays resident until the collector comes by.
   */
  #kept(size: number): ArrayBuffer | undefined {
    let fitting = 0;
    for (const [capacity, list] of this.#free) {
      if (capacity < size || capacity > MOST_WASTE * size || list.length === 0) continue;
      if (fitting === 0 || capacity < fitting) fitting = capacity;
    }
    if (fitting === 0) return undefined;
    this.#freeBytes -= fitting;
    return this.#free.get(fitting)?.pop();
  }

  /** Kept buffers go before a new one comes: all of it stays within the budget. */
  #makeRoom(): void {
    for (const [capacity, list] of this.#free) {
      while (this.used + this.#freeBytes > this.#budget && list.length > 0) {
        list.pop();
        this.#freeBytes -= capacity;
      }
    }
  }

  /** A response that has arrived in place of `reserved` booked bytes. It is held once. */
  adopt(bytes: Buffer, reserved: number): Frame {
    const taken = this.#taken(bytes);
    this.#reserved -= reserved;
    this.#held += taken;
    if (taken < reserved) this.#wake();
    return new Frame(this, bytes);
  }

  /** @internal called by the frame */
  takeBack(frame: Frame): void {
    const memory = frame.bytes.buffer as ArrayBuffer;
    const taken = this.#taken(frame.bytes);
    this.#held -= taken;
    // What is reserved does not count here: this may be the very buffer that its answer is read into.
    if (this.#ours.has(memory) && this.#held + this.#freeBytes + taken <= this.#budget) {
      const list = this.#free.get(taken);
      if (list === undefined) this.#free.set(taken, [memory]);
      else list.push(memory);
      this.#freeBytes += taken;
    }
    this.#wake();
  }

  /** Memory that stands behind a response. */
  #taken(bytes: Buffer): number {
    return this.#ours.has(bytes.buffer) ? bytes.buffer.byteLength : bytes.length;
  }

  #wake(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  }
}

function capacityFor(size: number): number {
  let capacity = SMALLEST_POOLED;
  while (capacity + SLACK < size) capacity *= 2;
  return capacity + SLACK;
}
