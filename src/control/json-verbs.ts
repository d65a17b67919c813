import { ErrorCode, errorName } from '../../protocol/errors.ts';
import type { VerbCall } from '../gateway/ports.ts';
import { authoriseReading } from './authorise.ts';
import type { DescribeRow } from './describe.ts';
import type { LossReport } from './loss.ts';
import { parseMirrorConfig } from './mirror-config.ts';
import type { TopicError } from './state/types.ts';
import { chosenOf, parseTopicChoice } from './topic-choice.ts';
import type { VerbOutcome, VerbRunner } from './verb-runner.ts';
import {
  type ChangingVerb,
  Refused,
  type VerbOptions,
  asVerbError,
  changingVerbs,
  laterVerbs,
} from './verbs/types.ts';

/**
 * Our private API key, 32001: a verb as JSON, its answer as JSON.
 *
 *     request  { verb, mirror, topics: string[] | null, all, dryRun, options: {} }
 *     answer   { ok, error?: { code, name, message }, topics?: [{ topic, error? }], plan?, report?, describe?, list?, status? }
 */
export interface JsonAnswer {
  readonly ok: boolean;
  readonly error?: JsonError;
  readonly topics?: readonly { readonly topic: string; readonly error?: JsonError }[];
  /** What was or would be done: `steps` are objects, `notes` sentences. */
  readonly plan?: { readonly steps: readonly object[]; readonly notes: readonly string[] };
  readonly report?: readonly LossReport[];
  readonly describe?: readonly DescribeRow[];
  readonly list?: readonly object[];
  readonly status?: object;
}

export interface JsonError {
  readonly code: number;
  readonly name: string;
  readonly message: string;
}

export interface JsonReader {
  rows(mirrors: readonly string[] | null): DescribeRow[];
  reports(mirror: string): LossReport[];
  list(): readonly { readonly mirror: string; readonly topics: readonly string[] }[];
  status(): object;
}

interface JsonVerb {
  readonly verb: string;
  readonly mirror: string | null;
  readonly topics: readonly string[];
  readonly all: boolean;
  readonly dryRun: boolean;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Never rejects. */
export async function answerJson(
  json: string | null,
  call: VerbCall,
  runner: VerbRunner,
  reader: JsonReader,
  clusters: ReadonlyMap<string, string>,
): Promise<JsonAnswer> {
  try {
    const asked = parseVerb(json);
    if ((changingVerbs as readonly string[]).includes(asked.verb)) {
      const outcome = await runner.run(
        {
          verb: asked.verb as ChangingVerb,
          mirror: asked.mirror ?? '',
          topics: asked.topics,
          exclude: strings(asked.options['exclude'], 'options.exclude'),
          all: asked.all,
          options: verbOptions(asked, clusters),
        },
        call,
        asked.dryRun,
      );
      return answerOf(outcome);
    }
    await authoriseReading(call.rights);
    return read(asked, reader);
  } catch (error) {
    return { ok: false, error: jsonError(asVerbError(error)) };
  }
}

function read(asked: JsonVerb, reader: JsonReader): JsonAnswer {
  switch (asked.verb) {
    case 'list':
      return { ok: true, list: reader.list() };
    case 'status':
      return { ok: true, status: reader.status() };
    case 'describe':
      if (asked.mirror !== null) needMirror(reader, asked.mirror);
      return {
        ok: true,
        describe: chosenRows(reader, asked, reader.rows(asked.mirror === null ? null : [asked.mirror])),
      };
    case 'report': {
      if (asked.mirror === null)
        throw new Refused(ErrorCode.INVALID_REQUEST, 'report needs the name of a mirror');
      needMirror(reader, asked.mirror);
      return { ok: true, report: chosenRows(reader, asked, reader.reports(asked.mirror)) };
    }
    default:
      throw unknownVerb(asked.verb);
  }
}

function needMirror(reader: JsonReader, mirror: string): void {
  if (reader.list().some((known) => known.mirror === mirror)) return;
  throw new Refused(ErrorCode.UNKNOWN_CLUSTER_MIRROR, `there is no mirror named ${JSON.stringify(mirror)}`);
}

/** Rows of the topics that are asked for, all when none are. @throws Refused for a name of no mirror topic */
function chosenRows<R extends { readonly topic: string }>(
  reader: JsonReader,
  asked: JsonVerb,
  rows: readonly R[],
): readonly R[] {
  if (asked.topics.length === 0) return rows;
  const mirrors = reader.list().filter(({ mirror }) => asked.mirror === null || mirror === asked.mirror);
  const known = mirrors.flatMap(({ topics }) => topics);
  const choice = parseTopicChoice(asked.topics);
  const unknown = choice.literals.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    const of = asked.mirror === null ? 'any mirror' : `mirror ${asked.mirror}`;
    throw new Refused(ErrorCode.TOPIC_NOT_IN_CLUSTER_MIRROR, `${unknown.join(', ')}: no topic of ${of}`);
  }
  const chosen = chosenOf(choice, known);
  return rows.filter(({ topic }) => chosen.has(topic));
}

function unknownVerb(verb: string): Refused {
  if ((laterVerbs as readonly string[]).includes(verb)) {
    return new Refused(
      ErrorCode.UNSUPPORTED_VERSION,
      `${verb} comes later: this version does not have it yet`,
    );
  }
  return new Refused(ErrorCode.INVALID_REQUEST, `there is no verb ${JSON.stringify(verb)}`);
}

function parseVerb(json: string | null): JsonVerb {
  if (json === null) throw new Refused(ErrorCode.INVALID_REQUEST, 'the request has no JSON');
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Refused(ErrorCode.INVALID_REQUEST, 'the request is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refused(ErrorCode.INVALID_REQUEST, 'the request is not a JSON object');
  }
  const { verb, mirror, topics, all, dryRun, options } = value as Record<string, unknown>;
  if (typeof verb !== 'string' || verb === '')
    throw new Refused(ErrorCode.INVALID_REQUEST, 'verb is missing');
  const changes = (changingVerbs as readonly string[]).includes(verb);
  if (mirror !== undefined && mirror !== null && typeof mirror !== 'string') {
    throw new Refused(ErrorCode.INVALID_REQUEST, 'mirror is not a name');
  }
  if (changes && (mirror === undefined || mirror === null || mirror === '')) {
    throw new Refused(ErrorCode.INVALID_REQUEST, `${verb} needs the name of a mirror`);
  }
  if (changes && all === true && Array.isArray(topics) && topics.length > 0) {
    throw new Refused(ErrorCode.INVALID_REQUEST, 'either topics or all: the request names both');
  }
  if (options !== undefined && options !== null && (typeof options !== 'object' || Array.isArray(options))) {
    throw new Refused(ErrorCode.INVALID_REQUEST, 'options is not an object');
  }
  return {
    verb,
    mirror: typeof mirror === 'string' && mirror !== '' ? mirror : null,
    topics: strings(topics, 'topics'),
    all: all === true,
    dryRun: dryRun === true,
    options: (options ?? {}) as Record<string, unknown>,
  };
}

function strings(value: unknown, field: string): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Refused(ErrorCode.INVALID_REQUEST, `${field} is not a list`);
  return value.map((entry: unknown, at) => {
    if (typeof entry !== 'string' || entry === '') {
      throw new Refused(
        ErrorCode.INVALID_REQUEST,
        `${field}[${at}] is ${entry === '' ? 'empty' : 'not a name'}`,
      );
    }
    return entry;
  });
}

/** `options` of create may also be KIP-1279's config map, under `config`. */
function verbOptions(asked: JsonVerb, clusters: ReadonlyMap<string, string>): VerbOptions {
  const { options } = asked;
  if (asked.verb !== 'create') {
    return options['acceptDamage'] === true ? { acceptDamage: true } : {};
  }
  const config = { ...asRecord(options['config']) };
  for (const key of ['source', 'copier'] as const) {
    if (typeof options[key] === 'string') config[key] = options[key];
  }
  const entries = Object.entries(config).map(([name, value]) => ({ name, value: String(value) }));
  const parsed = parseMirrorConfig(entries, clusters);
  const include = [
    ...(parsed.include ?? []),
    ...asked.topics,
    ...strings(options['include'], 'options.include'),
  ];
  const exclude = [...(parsed.exclude ?? []), ...strings(options['exclude'], 'options.exclude')];
  return { ...parsed, include, exclude, ...(options['start'] === true ? { start: true } : {}) };
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function answerOf(outcome: VerbOutcome): JsonAnswer {
  return {
    ok: outcome.error === null && outcome.topics.every(({ code }) => code === ErrorCode.NONE),
    ...(outcome.error === null ? {} : { error: jsonError(outcome.error) }),
    topics: outcome.topics.map((entry: TopicError) => ({
      topic: entry.topic,
      ...(entry.code === ErrorCode.NONE ? {} : { error: jsonError(entry) }),
    })),
    plan: { steps: outcome.plan.steps, notes: outcome.plan.notes },
  };
}

function jsonError(error: { readonly code: number; readonly message: string }): JsonError {
  return { code: error.code, name: errorName(error.code), message: error.message };
}
