import type { Io } from './io.ts';

/** What `check --connect` tells: what is, what is doubtful, and faults, which are counted. */
export class CheckReport {
  readonly #lines: { readonly isFault: boolean; readonly print: (io: Io) => void }[] = [];

  note(subject: string, text: string): void {
    this.#lines.push({ isFault: false, print: (io) => io.out(`${subject}: ${text}\n`) });
  }

  warning(subject: string, text: string): void {
    this.#lines.push({ isFault: false, print: (io) => io.err(`${subject}: warning: ${text}\n`) });
  }

  fault(subject: string, text: string): void {
    this.#lines.push({ isFault: true, print: (io) => io.err(`${subject}: ${text}\n`) });
  }

  /** @returns number of faults among what was told */
  print(io: Io): number {
    for (const { print } of this.#lines) print(io);
    return this.#lines.filter(({ isFault }) => isFault).length;
  }
}
