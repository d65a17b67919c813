/** The store that keeps the state of a destination cluster in its state topic (DESIGN section 6, "State topic"). */
import type { Freshness } from '../../gateway/ports.ts';
import type {
  CommandRecord,
  MirrorRecord,
  OwnerRecord,
  PartitionRecord,
  ResultRecord,
  StateRecord,
  Stored,
  TopicError,
  TopicRecord,
} from './records.ts';

export * from './records.ts';

/** What `write` takes; a record replaces the one of its key, a deletion is a tombstone. */
export type StateChange =
  | { readonly put: MirrorRecord | TopicRecord | PartitionRecord }
  | { readonly delete: { readonly kind: 'mirror' | 'topic'; readonly name: string } }
  | {
      readonly delete: { readonly kind: 'partition'; readonly topic: string; readonly partition: number };
    };

/** What was read last: nothing in here is ahead of the log. Live maps: don't keep an iterator over an await. */
export interface StateView {
  readonly mirrors: ReadonlyMap<string, Stored<MirrorRecord>>;
  readonly topics: ReadonlyMap<string, Stored<TopicRecord>>;
  /** By `T/P` (`partitionKey`). */
  readonly partitions: ReadonlyMap<string, Stored<PartitionRecord>>;
  /** By state partition. */
  readonly owners: ReadonlyMap<number, Stored<OwnerRecord>>;
  /** By id, in log order. */
  readonly commands: ReadonlyMap<string, Stored<CommandRecord>>;
  readonly results: ReadonlyMap<string, Stored<ResultRecord>>;
  /** false: its state partition was not read to its end yet, so that no record of it means nothing. */
  knows(topic: string, partition: number): boolean;
}

/** One key that changed in the view; `record` undefined = it was deleted. */
export interface ViewChange {
  readonly key: string;
  readonly record: Stored<StateRecord> | undefined;
}

/** Input of `submit`; the store adds id, times and issuer. */
export interface NewCommand {
  readonly verb: string;
  readonly mirror?: string;
  readonly topics?: readonly string[];
  readonly all?: boolean;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly issuer?: string;
  /** From now; default 30 s. */
  readonly deadlineMs?: number;
}

/** What a command handler decides: the changes and the result are committed, then the command is gone. */
export interface CommandOutcome {
  readonly changes: readonly StateChange[];
  readonly ok: boolean;
  readonly errorCode?: number;
  readonly errorMessage?: string;
  readonly topics?: readonly TopicError[];
  readonly report?: Readonly<Record<string, unknown>>;
}

/** Must be repeatable: after a crash the same command is handed out again until its result is in the log. */
export type CommandHandler = (command: Stored<CommandRecord>) => Promise<CommandOutcome>;

export interface StateStore {
  readonly view: StateView;
  /** This process's number; 0 before `open`. */
  readonly incarnation: number;
  /** The owner records as the older instance left them (before ours replaced them): `released` and `ends` count from here. */
  readonly previousOwners: ReadonlyMap<number, Stored<OwnerRecord>>;
  /**
   * The exact end that the previous incarnation released for this partition, or null: then rule 9 of DESIGN 5.5
   * applies. Counts once: only until this incarnation's first append.
   */
  releasedEnd(topic: string, partition: number): number | null;

  /** Creates or checks the topic, fences older instances, reads all, writes the owner records. */
  open(): Promise<void>;
  /**
   * One transaction per touched state partition; those of partition records first, then partition 0. Resolves when all
   * are committed and read back (the view shows them), however long a state partition is away; changes of the same
   * key stay in order. Rejects with StateFenced for ever once fenced, with StateAway for what was never read.
   */
  write(changes: readonly StateChange[]): Promise<void>;
  /** Appends a command and resolves with its result; rejects with StateTimeout when none came some time after the deadline. */
  submit(command: NewCommand): Promise<Stored<ResultRecord>>;
  /** Called for one command at a time, in log order. Set once, after `open`. */
  onCommand(handler: CommandHandler): void;
  /** Called after the view has changed, with all that one fetch brought. Returns its own undo. */
  onChange(listener: (changes: readonly ViewChange[]) => void): () => void;

  /**
   * Of what decides about one mirror partition, about a whole topic, or about all. Each state partition is fresh or
   * stale by itself (DESIGN section 7).
   */
  freshness(topic?: string, partition?: number): Freshness;
  /** Resolves after the first full read; state partitions out of reach then, partition 0 apart, follow later. */
  whenLoaded(): Promise<void>;
  /**
   * Why the state of a mirror partition, or without one that of mirrors, topics and commands, can't be read or written
   * now, with the state partition and the way out; null = it can.
   */
  outage(topic?: string, partition?: number): string | null;
  /** All state partitions that are out of reach, with the reason. */
  outages(): ReadonlyMap<number, string>;

  /** true once another instance took over, or the state topic can't be followed any more: nothing is written again. */
  readonly fenced: boolean;
  /** Called once, when `fenced` becomes true (or at once when it is). */
  onFenced(listener: (error: Error) => void): void;
  /**
   * false when fenced, when no state write SENT in the last 3 s was acknowledged (of state partition 0, or of the one
   * that a mirror partition lives in), when that one is not fresh, or within 3 s after fencing an instance that did not
   * release. A passing false is a pause, not the end: ask again.
   */
  mayAppend(topic?: string, partition?: number): boolean;
  /**
   * Resolves when `mayAppend` may be true for the first time: an older instance has certainly stopped. Without a
   * partition: in every state partition that was there when we opened.
   */
  whenMayAppend(topic?: string, partition?: number): Promise<void>;

  /** Writes `released: true` with the exact ends by `T/P` (not given: not released), then closes. */
  close(released?: ReadonlyMap<string, number>): Promise<void>;
}

/** Another instance took over this destination's state, or the broker forgot ours: this process may write no more. */
export class StateFenced extends Error {
  override readonly name = 'StateFenced';
}

/** No result within the deadline and some seconds: the command may still be taken or not. */
export class StateTimeout extends Error {
  override readonly name = 'StateTimeout';
}

/** The state topic can't be used as it is; the message says why and what to do. */
export class StateUnusable extends Error {
  override readonly name = 'StateUnusable';
}

/** The state partition that this concerns is out of reach. Nothing is decided on what was known of it before. */
export class StateAway extends Error {
  override readonly name = 'StateAway';
  /** It was being written already, and will stand there when the state partition is back, unless this process ends before. */
  readonly isOnItsWay: boolean;

  constructor(message: string, isOnItsWay = false) {
    super(message);
    this.isOnItsWay = isOnItsWay;
  }
}
