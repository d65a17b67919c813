/** One partition as `describe` gives it: KIP-1279's columns first, in its order and names, ours behind. */
export interface PartitionRow {
  readonly mirror: string;
  readonly topic: string;
  readonly partition: number;
  readonly sourceOffset: number;
  readonly destinationOffset: number;
  readonly lag: number;
  readonly state: string;
  readonly retryAttempt: number;
  readonly errorMessage: string | null;
  readonly held?: number;
  readonly requestAgeMs?: number;
  readonly desired?: string;
  readonly stopStep?: number | null;
  readonly lastMirroredOffset?: number;
  readonly barrierOffset?: number;
  readonly settledBy?: string;
  readonly counts?: Readonly<Record<string, number>> | null;
}

/** What a failover lost, cut or could not check, per partition. */
export interface LossRow {
  readonly topic: string;
  readonly partition: number;
  readonly state: string;
  readonly lastMirroredOffset: number;
  readonly barrierOffset: number;
  readonly sourceEnd: number;
  readonly sourceEndAgeMs: number | null;
  readonly difference: number | null;
  readonly cutTransactions: readonly string[];
  readonly unverified: readonly OffsetRange[];
  readonly damage: readonly OffsetRange[];
  readonly settledBy?: string;
}

interface OffsetRange {
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

/** -1 is "not known" on the wire and a dash for people. */
export function known(offset: number | undefined): string {
  return offset === undefined || offset < 0 ? '-' : String(offset);
}
