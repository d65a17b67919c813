import { ErrorCode } from '../../../protocol/errors.ts';
import type { LinkProgress, PartitionRef } from '../../link/ports.ts';
import type { Draft } from '../ledger.ts';
import { AdminError, type ClusterAdmin, type SourceSession } from '../ports.ts';
import type { CommandRecord, StateView, TopicError } from '../state/types.ts';
import { BadTopicChoice } from '../topic-choice.ts';
import { textOf } from '../../net/error-text.ts';

/** Verbs that change something go through the state topic as commands; the others only read. */
export const changingVerbs = ['create', 'start', 'stop', 'failover', 'delete'] as const;
/** In the design and not built: refused by name, never half done. */
export const laterVerbs = [
  'pause',
  'resume',
  'recover',
  'promote',
  'reverse',
  'rebuild',
  'truncate-and-restore',
  'switch',
] as const;

export type ChangingVerb = (typeof changingVerbs)[number];

/** A verb as asked, by whichever API. */
export interface VerbRequest {
  readonly verb: ChangingVerb;
  readonly mirror: string;
  /** Literal names and `/patterns/`; empty with `all` or for a verb without topics. */
  readonly topics: readonly string[];
  readonly exclude: readonly string[];
  readonly all: boolean;
  readonly options: VerbOptions;
}

export interface VerbOptions {
  /** create: name of a configured cluster. */
  readonly source?: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly copier?: string;
  readonly replicationFactor?: number;
  /** create: start what `include` names, in the same transaction. */
  readonly start?: boolean;
  /** create, of an entry of the YAML: a name that another mirror holds is that topic's error, and the others begin. */
  readonly isEntryOfFile?: boolean;
  /** create: id of the source as the caller knows it; refused when it is another. */
  readonly sourceClusterId?: string;
  /** start: what the caller wrote, when `topics` holds what it resolved to. */
  readonly remember?: readonly string[];
  /** stop, failover */
  readonly acceptDamage?: boolean;
}

/** What a verb would do and, unless it is refused, how to write it down. */
export interface Plan {
  /** A fault of the whole: nothing is written. */
  readonly error: VerbError | null;
  /** Every topic meant, with what is wrong with it (code 0: nothing). */
  readonly topics: readonly TopicError[];
  /** Topics that exist at the destination and are acted on: the caller needs ALTER_CONFIGS on each. */
  readonly existing: readonly string[];
  /** For people and `--dry-run`: one object a topic or partition, or a sentence. */
  readonly steps: readonly object[];
  readonly notes: readonly string[];
  /** Put the desired state down, each by itself: one that can't be written now holds up no other. */
  readonly commits: readonly PlannedCommit[];
}

export interface PlannedCommit {
  /** The topic whose error it is when this can't be written; null: the whole verb's. */
  readonly topic: string | null;
  /** Called with the records as they are then, so it judges them again. */
  put(draft: Draft, at: number): void;
}

export interface VerbError {
  readonly code: number;
  readonly message: string;
}

/** What plans look at. */
export interface VerbWorld {
  readonly view: StateView;
  readonly destination: ClusterAdmin;
  readonly destinationName: string;
  /** Names of the configured clusters with their `bootstrap.servers`. */
  readonly clusters: ReadonlyMap<string, string>;
  /** A session that lives as long as the plan needs it; the caller closes it. */
  openSource(mirror: string, source: string): Promise<SourceSession>;
  progress(mirror: string, ref: PartitionRef): LinkProgress | undefined;
  /** Why the state of a partition can't be read or written now; null = it can. */
  outage(topic: string, partition: number): string | null;
  now(): number;
  /** Rejects when the signal ends it. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Thrown inside a plan: a fault of the whole request. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export function refusedPlan(error: unknown): Plan {
  return {
    error: asVerbError(error),
    topics: [],
    existing: [],
    steps: [],
    notes: [],
    commits: [],
  };
}

export function asVerbError(error: unknown): VerbError {
  if (error instanceof Refused) return { code: error.code, message: error.message };
  if (error instanceof AdminError) {
    const code = error.code === -1 ? ErrorCode.BROKER_NOT_AVAILABLE : error.code;
    return { code, message: error.message };
  }
  const message = textOf(error);
  const code = error instanceof BadTopicChoice ? ErrorCode.INVALID_REQUEST : ErrorCode.UNKNOWN_SERVER_ERROR;
  return { code, message };
}

/** The error of a topic of which some partition's state is out of reach; null when all is in reach. */
export function outageOf(
  world: Pick<VerbWorld, 'outage'>,
  topic: string,
  partitions: number,
): TopicError | null {
  for (let partition = 0; partition < partitions; partition++) {
    const outage = world.outage(topic, partition);
    if (outage === null) continue;
    const message = `the state of ${topic}-${partition} can't be changed now: ${outage}`;
    return topicError(topic, ErrorCode.COORDINATOR_NOT_AVAILABLE, message);
  }
  return null;
}

export function liveMirror(view: StateView, name: string) {
  const mirror = view.mirrors.get(name);
  if (mirror === undefined || mirror.deletedAt !== null) {
    throw new Refused(ErrorCode.UNKNOWN_CLUSTER_MIRROR, `there is no mirror named ${JSON.stringify(name)}`);
  }
  return mirror;
}

export function topicError(topic: string, code: number, message: string): TopicError {
  return { topic, code, message };
}

/** The request that a command record carries. */
export function requestOf(command: CommandRecord): VerbRequest {
  return {
    verb: command.verb as ChangingVerb,
    mirror: command.mirror,
    topics: command.topics,
    exclude: [],
    all: command.all,
    options: JSON.parse(command.options === '' ? '{}' : command.options) as VerbOptions,
  };
}
