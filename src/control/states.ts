/**
 * The state machine of one mirror partition (DESIGN section 6; names as KIP-1279 sends them to clients).
 *
 *                      start                 caught up with its own log
 *   UNKNOWN ───────────────────▶ LOG_ALIGNMENT ───────────────────▶ MIRRORING ◀──┐
 *      │                            │      ▲                        │    │       │ next retry
 *      │ failure            failure │      │ next retry     failure │    │ stop  │ (from = MIRRORING)
 *      ▼                            ▼      │ (from = LOG_ALIGNMENT) ▼    │       │
 *   FAILED ◀────────────────────── FAILED ─┘◀────────────────── FAILED ──┼───────┘
 *      │                                                          ▲      │
 *      │ stop                                     failure of a    │      ▼
 *      └──────────────────────────────────────▶ STOPPING ─────────┴── STOPPING 1…6 ──▶ STOPPED
 *                                                 ▲      (retry goes on at the persisted step)
 *                        LOG_ALIGNMENT, UNKNOWN ──┘ stop
 *
 * A STOPPED partition belongs to its new owner: only a new start leads out of it, not even a failure does. KIP-1279
 * lets it fail, and a topic deleted at the old source would then make a promoted topic read-only again.
 * EPOCH_FENCING and ULE_RECOVERY are never entered on stock brokers; PAUSING and PAUSED come later.
 */
import type { PartitionRecord, PartitionState as StateName } from './state/types.ts';

/**
 * How far STOPPING came, persisted: 0 asked for; 1 fetcher stopped and end known; 3 end read and judged; 4 LMO
 * persisted, a barrier may stand from now on; 5 barrier read back; 6 producer entries emptied. 7 is STOPPED.
 * (Step 2, the cut to the source's LSO, has no trace of its own: nothing above the LSO was ever appended.)
 */
export type StopStep = 0 | 1 | 3 | 4 | 5 | 6;

export interface Unknown {
  readonly name: 'UNKNOWN';
}
export interface LogAlignment {
  readonly name: 'LOG_ALIGNMENT';
}
export interface Mirroring {
  readonly name: 'MIRRORING';
}
export interface Stopping {
  readonly name: 'STOPPING';
  readonly step: StopStep;
}
export interface Stopped {
  readonly name: 'STOPPED';
}
export interface Failed {
  readonly name: 'FAILED';
  /** Where a retry goes back to. */
  readonly from: LogAlignment | Mirroring | Stopping | Unknown;
  /** Retries made so far; -1 = not retriable (KIP-1279). */
  readonly retryAttempt: number;
  readonly message: string;
}

export type PartitionState = Unknown | LogAlignment | Mirroring | Stopping | Stopped | Failed;
/** States in which Isthmus works on a partition: everything that may still fail. */
export type LiveState = Exclude<PartitionState, Stopped>;

export const UNKNOWN: Unknown = { name: 'UNKNOWN' };

/**
 * The start verb: from nothing recorded, or on a STOPPED topic that was emptied (deleted and created anew by its
 * owner) since. A STOPPED log with records needs `rebuild` or `reverse`.
 */
export function align(_from: Unknown | LogAlignment | Stopped): LogAlignment {
  return { name: 'LOG_ALIGNMENT' };
}

/** The link compared the tail and stands at the log's end. */
export function mirror(_from: LogAlignment | Mirroring): Mirroring {
  return { name: 'MIRRORING' };
}

/** The stop verb; asked for again, it goes on where it stood. From FAILED too, a failed stop at its step. */
export function stop(from: LiveState): Stopping {
  if (from.name === 'STOPPING') return from;
  if (from.name === 'FAILED' && from.from.name === 'STOPPING') return from.from;
  return { name: 'STOPPING', step: 0 };
}

/** A step of STOPPING was persisted. @throws RangeError when it leads back (step 3 again after 4 is allowed). */
export function stepDone(from: Stopping, step: StopStep): Stopping {
  if (step < from.step && !(step === 3 && from.step === 4)) {
    throw new RangeError(`STOPPING can't go from step ${from.step} back to step ${step}`);
  }
  return { name: 'STOPPING', step };
}

/** The barrier was read back and the producer entries are empty. */
export function stopped(from: Stopping): Stopped {
  if (from.step < 5)
    throw new RangeError(`STOPPED needs the barrier read back, STOPPING is at step ${from.step}`);
  return { name: 'STOPPED' };
}

/**
 * A failure; one that comes while FAILED keeps where the first came from.
 * @param attempts retries already made since the partition last worked
 */
export function fail(from: LiveState, message: string, retriable: boolean, attempts = 0): Failed {
  const origin = from.name === 'FAILED' ? from.from : from;
  return { name: 'FAILED', from: origin, retryAttempt: retriable ? attempts : -1, message };
}

/** Where the next retry goes on, or null when the failure is not retriable. */
export function retry(from: Failed): Failed['from'] | null {
  return from.retryAttempt < 0 ? null : from.from;
}

/** true while clients may not write to the partition: every state but STOPPED (KIP-1279). */
export function isReadOnly(name: StateName): boolean {
  return name !== 'STOPPED';
}

const allowed: Partial<Record<StateName, readonly StateName[]>> = {
  UNKNOWN: ['LOG_ALIGNMENT', 'STOPPING', 'FAILED'],
  LOG_ALIGNMENT: ['MIRRORING', 'STOPPING', 'FAILED'],
  MIRRORING: ['STOPPING', 'FAILED'],
  STOPPING: ['STOPPED', 'FAILED'],
  STOPPED: ['LOG_ALIGNMENT'],
  FAILED: ['LOG_ALIGNMENT', 'MIRRORING', 'STOPPING'],
};

/** The chart as data: asked before a record is written, whoever computed it. X to X is always tolerated. */
export function mayGo(from: StateName, to: StateName): boolean {
  return from === to || (allowed[from]?.includes(to) ?? false);
}

/** What a record of the state topic says, as a state value. Unreadable combinations count as their nearest safe state. */
export function stateOf(
  record: Pick<PartitionRecord, 'state' | 'previousState' | 'retryAttempt' | 'errorMessage' | 'stop'>,
): PartitionState {
  switch (record.state) {
    case 'LOG_ALIGNMENT':
    case 'EPOCH_FENCING':
    case 'ULE_RECOVERY':
      return { name: 'LOG_ALIGNMENT' };
    case 'MIRRORING':
    case 'PAUSING':
    case 'PAUSED':
      return { name: 'MIRRORING' };
    case 'STOPPING':
      return { name: 'STOPPING', step: stepOf(record.stop?.step ?? 0) };
    case 'STOPPED':
      return { name: 'STOPPED' };
    case 'FAILED':
      return {
        name: 'FAILED',
        from: originOf(record),
        retryAttempt: record.retryAttempt,
        message: record.errorMessage,
      };
    case 'UNKNOWN':
      return UNKNOWN;
  }
}

function originOf(record: Pick<PartitionRecord, 'previousState' | 'stop'>): Failed['from'] {
  switch (record.previousState) {
    case 'STOPPING':
      return { name: 'STOPPING', step: stepOf(record.stop?.step ?? 0) };
    case 'MIRRORING':
    case 'PAUSING':
    case 'PAUSED':
      return { name: 'MIRRORING' };
    case 'LOG_ALIGNMENT':
    case 'EPOCH_FENCING':
    case 'ULE_RECOVERY':
      return { name: 'LOG_ALIGNMENT' };
    default:
      return UNKNOWN;
  }
}

function stepOf(step: number): StopStep {
  if (step >= 6) return 6;
  return step === 2 ? 1 : ((step < 0 ? 0 : step) as StopStep);
}

/** The columns of a record that a state value decides. */
export function stateColumns(
  state: PartitionState,
): Pick<PartitionRecord, 'state' | 'previousState' | 'retryAttempt' | 'errorMessage'> {
  if (state.name === 'FAILED') {
    return {
      state: 'FAILED',
      previousState: state.from.name,
      retryAttempt: state.retryAttempt,
      errorMessage: state.message,
    };
  }
  return { state: state.name, previousState: 'UNKNOWN', retryAttempt: 0, errorMessage: '' };
}
