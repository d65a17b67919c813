import type { KillKind } from './kill-plan.ts';

/** What the run has seen of one kill. */
export interface Killed {
  readonly kind: KillKind;
  /** A Produce or WriteTxnMarkers of the mirror was with the broker in full, its reply withheld, at the kill. */
  readonly inFlight: boolean;
  /** Most markers that the request had for one partition; 0 when it was no WriteTxnMarkers. */
  readonly markers: number;
  /** The broker had replied already, to the proxy. */
  readonly replied: boolean;
  /** With the broker stopped, some markers of the run stood in its log and some did not. */
  readonly partial: boolean;
  /** From the start of the killed process to its first append of the mirror, if one was waited for. */
  readonly upMs: number | null;
}

export interface Quotas {
  readonly inFlight: number;
  readonly inRun: number;
}

/** 100 and 20 of 200, in proportion for other numbers. */
export function quotasOf(kills: number): Quotas {
  return { inFlight: Math.ceil(kills / 2), inRun: Math.ceil(kills / 10) };
}

/** Counted from what was seen, never from what was planned. */
export class KillCounts {
  readonly all: Killed[] = [];

  add(killed: Killed): void {
    this.all.push(killed);
  }

  get inFlight(): number {
    return this.#count(({ inFlight }) => inFlight);
  }

  get inRun(): number {
    return this.#count(({ inFlight, markers }) => inFlight && markers > 1);
  }

  missing({ inFlight, inRun }: Quotas): string[] {
    const missing: string[] = [];
    if (this.inFlight < inFlight) missing.push(`${this.inFlight} kills in flight, ${inFlight} are demanded`);
    if (this.inRun < inRun) missing.push(`${this.inRun} kills inside a marker run, ${inRun} are demanded`);
    return missing;
  }

  summary() {
    const byKind: Partial<Record<KillKind, number>> = {};
    for (const { kind } of this.all) byKind[kind] = (byKind[kind] ?? 0) + 1;
    const ups = this.all.flatMap(({ upMs }) => upMs ?? []).toSorted((a, b) => a - b);
    return {
      kills: this.all.length,
      inFlight: this.inFlight,
      inFlightUnanswered: this.#count(({ inFlight, replied }) => inFlight && !replied),
      insideMarkerRun: this.inRun,
      partlyStoredRuns: this.#count(({ partial }) => partial),
      byKind,
      startToAppendMs: { median: ups[ups.length >> 1] ?? null, most: ups.at(-1) ?? null },
    };
  }

  #count(which: (killed: Killed) => boolean): number {
    return this.all.filter(which).length;
  }
}
