import { ErrorCode } from '../../protocol/errors.ts';
import { lifecycle, syncError } from '../observe/channels.ts';
import { Backoff } from './backoff.ts';
import type { Copier, StateView } from './state/types.ts';
import type { VerbRunner } from './verb-runner.ts';

/** An entry of `mirrors:` in the YAML. */
export interface MirrorEntry {
  readonly name: string;
  readonly source: string;
  readonly topics: { readonly include: readonly string[]; readonly exclude: readonly string[] };
  /** null = the destination's default. */
  readonly replicationFactor: number | null;
  readonly copier: Copier;
}

/**
 * Entries of the YAML become mirrors: created and started only while no record, a deleted one included, has their
 * name. Afterwards the state wins, and what differs is shown as drift.
 */
export class YamlMirrors {
  readonly #entries: readonly MirrorEntry[];
  readonly #view: StateView;
  readonly #runner: VerbRunner;
  readonly #now: () => number;
  readonly #backoff = new Backoff(1000, 15_000);
  readonly #trouble = new Map<string, string>();
  /** Entries that this process created: their missing topics are started when they appear. */
  readonly #ours = new Set<string>();
  readonly #toldDeleted = new Set<string>();

  constructor(entries: readonly MirrorEntry[], view: StateView, runner: VerbRunner, now: () => number) {
    this.#entries = entries;
    this.#view = view;
    this.#runner = runner;
    this.#now = now;
  }

  /** One look at all entries. */
  async round(): Promise<void> {
    for (const entry of this.#entries) {
      if (!this.#backoff.isDue(entry.name, this.#now())) continue;
      if (isDeleted(this.#view, entry.name)) this.#tellDeleted(entry);
      if (!this.#view.mirrors.has(entry.name)) await this.#create(entry);
      else if (this.#ours.has(entry.name)) await this.#startMissing(entry);
      // somebody created it meanwhile by a verb
      else this.#trouble.delete(entry.name);
    }
  }

  /** Why an entry is not created or started yet, or never will be. */
  trouble(mirror: string): string | null {
    const deleted = this.#entries.find(({ name }) => name === mirror && isDeleted(this.#view, name));
    return deleted === undefined ? (this.#trouble.get(mirror) ?? null) : deletedText(deleted);
  }

  /** Entries without a mirror: that have no record yet, or that of a deleted one. */
  idle(): readonly MirrorEntry[] {
    return this.#entries.filter(({ name }) => this.#view.mirrors.get(name)?.deletedAt !== null);
  }

  /** How an entry differs from what the state says; the state wins. */
  drift(): readonly { readonly mirror: string; readonly message: string }[] {
    return this.#entries.flatMap((entry) => {
      const messages = driftOf(entry, this.#view);
      // while it is ours they are started when they can be, and the trouble says why not yet
      const absent = this.#ours.has(entry.name) ? [] : this.#notMirrored(entry);
      const holder = (name: string) => this.#view.topics.get(name)?.mirror ?? null;
      for (const name of absent) {
        if (holder(name) !== null)
          messages.push(`not mirrored here: ${name} belongs to mirror ${holder(name)}`);
      }
      const waiting = absent.filter((name) => holder(name) === null);
      if (waiting.length > 0) messages.push(`not mirrored, and started by nobody: ${waiting.join(', ')}`);
      return messages.map((message) => ({ mirror: entry.name, message }));
    });
  }

  async #create(entry: MirrorEntry): Promise<void> {
    const outcome = await this.#runner.run(
      {
        verb: 'create',
        mirror: entry.name,
        topics: [],
        exclude: [],
        all: false,
        options: {
          source: entry.source,
          include: entry.topics.include,
          exclude: entry.topics.exclude,
          copier: entry.copier,
          start: true,
          isEntryOfFile: true,
          ...(entry.replicationFactor === null ? {} : { replicationFactor: entry.replicationFactor }),
        },
      },
      itself,
      false,
    );
    if (outcome.error !== null) {
      this.#failed(entry.name, outcome.error.message);
      return;
    }
    this.#ours.add(entry.name);
    this.#noteMissing(entry.name, outcome.topics);
    lifecycle.publish({ level: 'info', message: `mirror ${entry.name} was created from ${entry.source}` });
    for (const note of outcome.plan.notes) {
      lifecycle.publish({ level: 'warn', message: `mirror ${entry.name}: ${note}` });
    }
  }

  /** Literal names that could not be started when the mirror was created: not at the source, taken by another mirror … */
  async #startMissing(entry: MirrorEntry): Promise<void> {
    const missing = this.#notMirrored(entry);
    if (missing.length === 0 || this.#view.mirrors.get(entry.name)?.deletedAt !== null) {
      this.#ours.delete(entry.name);
      this.#trouble.delete(entry.name);
      return;
    }
    const outcome = await this.#runner.run(
      { verb: 'start', mirror: entry.name, topics: missing, exclude: [], all: false, options: {} },
      itself,
      false,
    );
    if (outcome.error !== null && outcome.topics.length === 0)
      this.#failed(entry.name, outcome.error.message);
    else this.#noteMissing(entry.name, outcome.topics);
  }

  /** Literal names of the entry that are no topic of its mirror. */
  #notMirrored(entry: MirrorEntry): string[] {
    const record = this.#view.mirrors.get(entry.name);
    if (record === undefined || record.deletedAt !== null) return [];
    return entry.topics.include.filter(
      (name) =>
        !name.startsWith('/') &&
        record.topics.include.includes(name) &&
        this.#view.topics.get(name)?.mirror !== entry.name,
    );
  }

  #tellDeleted(entry: MirrorEntry): void {
    if (this.#toldDeleted.has(entry.name)) return;
    this.#toldDeleted.add(entry.name);
    lifecycle.publish({ level: 'warn', message: `mirror ${entry.name} of the file: ${deletedText(entry)}` });
  }

  #noteMissing(name: string, topics: readonly { topic: string; code: number; message: string }[]): void {
    const wrong = topics.filter(({ code }) => code !== ErrorCode.NONE);
    if (wrong.length === 0) {
      this.#backoff.worked(name);
      this.#trouble.delete(name);
      return;
    }
    this.#failed(name, wrong.map(({ message }) => message).join('; '));
  }

  #failed(name: string, message: string): void {
    const attempts = this.#backoff.failed(name, this.#now());
    this.#trouble.set(name, message);
    if (attempts === 1) syncError.publish({ mirror: name, task: 'create', message });
  }
}

export function isDeleted(view: StateView, name: string): boolean {
  return typeof view.mirrors.get(name)?.deletedAt === 'number';
}

function deletedText({ name, source }: MirrorEntry): string {
  return (
    `the mirror was deleted, and the entry makes no new one: take it out of the file, give it another name, or use ` +
    `isthmus mirror create ${name} --source ${source} --topics …`
  );
}

const itself = { clientAddress: 'configuration', clientId: 'isthmus', rights: null };

function driftOf(entry: MirrorEntry, view: StateView): string[] {
  const record = view.mirrors.get(entry.name);
  if (record === undefined || record.deletedAt !== null) return [];
  const drift: string[] = [];
  if (record.source !== entry.source) drift.push(`source: file ${entry.source}, state ${record.source}`);
  if (record.copier !== entry.copier) drift.push(`copier: file ${entry.copier}, state ${record.copier}`);
  if (record.replicationFactor !== (entry.replicationFactor ?? 0)) {
    drift.push(
      `topics.replication.factor: file ${entry.replicationFactor ?? 'default'}, state ` +
        `${record.replicationFactor === 0 ? 'default' : record.replicationFactor}`,
    );
  }
  for (const side of ['include', 'exclude'] as const) {
    const more = entry.topics[side].filter((name) => !record.topics[side].includes(name));
    const fewer = record.topics[side].filter((name) => !entry.topics[side].includes(name));
    if (more.length > 0) drift.push(`topics.${side}: only in the file: ${more.join(', ')}`);
    if (fewer.length > 0) drift.push(`topics.${side}: only in the state: ${fewer.join(', ')}`);
  }
  return drift;
}
