import { ErrorCode } from '../../protocol/errors.ts';
import type { CreateClusterMirrorRequest } from '../../protocol/schema/94-create-cluster-mirror.ts';
import type { StartMirrorTopicsRequest } from '../../protocol/schema/95-start-mirror-topics.ts';
import type { StopMirrorTopicsRequest } from '../../protocol/schema/96-stop-mirror-topics.ts';
import type {
  ListClusterMirrorsRequest,
  ListClusterMirrorsResponseInput,
} from '../../protocol/schema/98-list-cluster-mirrors.ts';
import type {
  DescribeClusterMirrorsRequest,
  DescribeClusterMirrorsResponseInput,
} from '../../protocol/schema/99-describe-cluster-mirrors.ts';
import type { DeleteClusterMirrorRequest } from '../../protocol/schema/104-delete-cluster-mirror.ts';
import type { IsthmusRequest } from '../../protocol/schema/32001-isthmus.ts';
import type { VerbCall, VerbPort } from '../gateway/ports.ts';
import { authoriseReading } from './authorise.ts';
import type { DescribeRow } from './describe.ts';
import { type JsonReader, answerJson } from './json-verbs.ts';
import { kipPattern, parseMirrorConfig } from './mirror-config.ts';
import type { TopicError } from './state/types.ts';
import type { VerbOutcome, VerbRunner } from './verb-runner.ts';
import { type VerbRequest, asVerbError } from './verbs/types.ts';

/** What the reading verbs need. */
export interface MirrorReader extends JsonReader {
  /** Rows of the named mirrors, null = all. */
  rows(mirrors: readonly string[] | null): DescribeRow[];
  list(): MirrorSummary[];
}

export interface MirrorSummary {
  readonly mirror: string;
  readonly source: string;
  readonly sourceBootstrap: string;
  readonly sourceClusterId: string;
  /** Topics that are not STOPPED. */
  readonly activeTopics: readonly string[];
  readonly topics: readonly string[];
  /** As written: names and `/patterns/`. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** KIP-1279's RPCs in revision R-July, and our own key: bodies in, bodies out. */
export class MirrorVerbs implements VerbPort {
  readonly #runner: VerbRunner;
  readonly #reader: MirrorReader;
  readonly #clusters: ReadonlyMap<string, string>;

  constructor(runner: VerbRunner, reader: MirrorReader, clusters: ReadonlyMap<string, string>) {
    this.#runner = runner;
    this.#reader = reader;
    this.#clusters = clusters;
  }

  async handle(call: VerbCall): Promise<unknown> {
    try {
      return await this.#answer(call);
    } catch (error) {
      const { code, message } = asVerbError(error);
      return { errorCode: code, errorMessage: message };
    }
  }

  async #answer(call: VerbCall): Promise<unknown> {
    switch (call.apiKey) {
      case 94:
        return this.#create(call, call.body as CreateClusterMirrorRequest);
      case 95:
        return this.#start(call, call.body as StartMirrorTopicsRequest);
      case 96:
        return this.#stop(call, call.body as StopMirrorTopicsRequest);
      case 98:
        return this.#list(call, call.body as ListClusterMirrorsRequest);
      case 99:
        return this.#describe(call, call.body as DescribeClusterMirrorsRequest);
      case 104:
        return this.#delete(call, call.body as DeleteClusterMirrorRequest);
      case 32001: {
        const json = (call.body as IsthmusRequest).json;
        return {
          json: JSON.stringify(await answerJson(json, call, this.#runner, this.#reader, this.#clusters)),
        };
      }
      default:
        return {
          errorCode: ErrorCode.UNSUPPORTED_VERSION,
          errorMessage: `API key ${call.apiKey} is no verb that Isthmus answers`,
        };
    }
  }

  async #create(call: VerbCall, body: CreateClusterMirrorRequest): Promise<unknown> {
    const options = parseMirrorConfig(body.config, this.#clusters);
    return head(await this.#run(call, request('create', body.mirrorName, { options })));
  }

  async #start(call: VerbCall, body: StartMirrorTopicsRequest): Promise<unknown> {
    const topics = [
      ...body.topics.map(({ topicName }) => topicName),
      ...body.includePatterns.map(kipPattern),
    ];
    const exclude = body.excludePatterns.map(kipPattern);
    return withTopics(await this.#run(call, request('start', body.mirrorName, { topics, exclude })));
  }

  async #stop(call: VerbCall, body: StopMirrorTopicsRequest): Promise<unknown> {
    const topics = [...body.topics.map(({ topicName }) => topicName), ...body.patterns.map(kipPattern)];
    return withTopics(await this.#run(call, request('stop', body.mirrorName, { topics })));
  }

  async #delete(call: VerbCall, body: DeleteClusterMirrorRequest): Promise<unknown> {
    return head(await this.#run(call, request('delete', body.mirrorName, {})));
  }

  async #list(call: VerbCall, body: ListClusterMirrorsRequest): Promise<ListClusterMirrorsResponseInput> {
    await authoriseReading(call.rights);
    return {
      mirrors: this.#reader.list().map((mirror) => ({
        mirrorName: mirror.mirror,
        sourceBootstrap: mirror.sourceBootstrap,
        sourceClusterId: mirror.sourceClusterId,
        topicCount: mirror.activeTopics.length,
        topicNames: body.includeTopicNames ? [...mirror.topics] : [],
      })),
    };
  }

  async #describe(
    call: VerbCall,
    body: DescribeClusterMirrorsRequest,
  ): Promise<DescribeClusterMirrorsResponseInput> {
    await authoriseReading(call.rights);
    const known = new Set(this.#reader.list().map(({ mirror }) => mirror));
    const names = body.mirrorNames.length === 0 ? [...known] : body.mirrorNames;
    return {
      mirrors: names.map((mirrorName) =>
        known.has(mirrorName)
          ? { mirrorName, topics: byTopic(this.#reader.rows([mirrorName])) }
          : { mirrorName, errorCode: ErrorCode.UNKNOWN_CLUSTER_MIRROR, topics: [] },
      ),
    };
  }

  #run(call: VerbCall, asked: VerbRequest): Promise<VerbOutcome> {
    return this.#runner.run(asked, call, false);
  }
}

export function request(
  verb: VerbRequest['verb'],
  mirror: string,
  rest: Partial<Omit<VerbRequest, 'verb' | 'mirror'>>,
): VerbRequest {
  return { verb, mirror, topics: [], exclude: [], all: false, options: {}, ...rest };
}

function head(outcome: VerbOutcome): { errorCode: number; errorMessage: string | null } {
  return { errorCode: outcome.error?.code ?? ErrorCode.NONE, errorMessage: outcome.error?.message ?? null };
}

function withTopics(outcome: VerbOutcome): unknown {
  const first = outcome.topics.find(({ code }) => code !== ErrorCode.NONE);
  const whole = outcome.error ?? first ?? null;
  return {
    errorCode: whole?.code ?? ErrorCode.NONE,
    errorMessage: whole?.message ?? null,
    topics: outcome.topics.map(({ topic, code, message }: TopicError) => ({
      name: topic,
      errorCode: code,
      errorMessage: message === '' ? null : message,
    })),
  };
}

function byTopic(rows: readonly DescribeRow[]) {
  const topics = new Map<string, DescribeRow[]>();
  for (const row of rows) topics.set(row.topic, [...(topics.get(row.topic) ?? []), row]);
  return [...topics].map(([topicName, partitions]) => ({
    topicName,
    partitions: partitions.map((row) => ({
      partitionIndex: row.partition,
      sourceOffset: row.sourceOffset,
      destinationOffset: row.destinationOffset,
      lag: row.lag,
      stateValue: row.state,
      retryAttempt: row.retryAttempt,
      errorMessage: row.errorMessage,
    })),
  }));
}
