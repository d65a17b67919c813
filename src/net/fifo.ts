/** First in, first out, without the cost of Array#shift: taken items are cut off in bulk. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  last(): T | undefined {
    return this.size === 0 ? undefined : this.#items[this.#items.length - 1];
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (this.#head === this.#items.length) return undefined;
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  unshift(item: T): void {
    this.#items = [item, ...this.#items.slice(this.#head)];
    this.#head = 0;
  }

  *drain(): Generator<T> {
    for (let item = this.shift(); item !== undefined; item = this.shift()) yield item;
  }

  some(test: (item: T) => boolean): boolean {
    for (let at = this.#head; at < this.#items.length; at += 1) if (test(this.#items[at] as T)) return true;
    return false;
  }
}
