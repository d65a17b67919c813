import type { Path, Places } from './places.ts';
import type { Fault } from './types.ts';

/** Faults and warnings as they are found; told in the order of the file, each once. */
export class Findings {
  readonly places: Places;
  readonly #faults: Fault[] = [];
  readonly #warnings: Fault[] = [];

  constructor(places: Places) {
    this.places = places;
  }

  /** At the value of the path. */
  fault(path: Path, message: string): void {
    this.#faults.push(this.places.fault(path, message));
  }

  /** At the key itself. */
  keyFault(path: Path, message: string): void {
    this.#faults.push(this.places.keyFault(path, message));
  }

  add(faults: readonly Fault[]): void {
    this.#faults.push(...faults);
  }

  warning(path: Path, message: string): void {
    this.#warnings.push(this.places.fault(path, message));
  }

  keyWarning(path: Path, message: string): void {
    this.#warnings.push(this.places.keyFault(path, message));
  }

  get faults(): Fault[] {
    return inOrder(this.#faults);
  }

  get warnings(): Fault[] {
    return inOrder(this.#warnings);
  }
}

/** What stands behind an anchor is judged at each of its uses; a fault in it is told once. */
function inOrder(faults: readonly Fault[]): Fault[] {
  const told = new Set<string>();
  return faults
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .filter(({ line, column, message }) => {
      const key = `${line}:${column} ${message}`;
      return !told.has(key) && told.add(key);
    });
}
