import { ErrorCode } from '../../protocol/errors.ts';
import type { CallerRights } from '../gateway/ports.ts';
import { audit } from '../observe/channels.ts';
import { authoriseChange, authoriseTopics } from './authorise.ts';
import type { Ledger } from './ledger.ts';
import {
  type CommandOutcome,
  type CommandRecord,
  StateAway,
  type StateStore,
  StateFenced,
  StateTimeout,
  type TopicError,
} from './state/types.ts';
import { planVerb } from './verbs/index.ts';
import {
  type Plan,
  Refused,
  type VerbError,
  type VerbRequest,
  type VerbWorld,
  asVerbError,
  requestOf,
} from './verbs/types.ts';
import { inTime } from './within.ts';

/** Who asks. Without rights it is Isthmus itself, for an entry of the YAML. */
export interface Caller {
  readonly clientAddress: string;
  readonly clientId: string | null;
  readonly rights: CallerRights | null;
}

export interface VerbOutcome {
  readonly error: VerbError | null;
  readonly topics: readonly TopicError[];
  readonly plan: { readonly steps: readonly object[]; readonly notes: readonly string[] };
}

/**
 * The path of a verb that changes something: rights, plan, rights on the topics that the plan names, then a command
 * in the state topic. The command is planned again when its turn comes, in log order, and its desired state is
 * written down; whoever runs the mirrors acts towards it.
 */
export class VerbRunner {
  readonly #store: StateStore;
  readonly #ledger: Ledger;
  readonly #world: VerbWorld;

  constructor(store: StateStore, ledger: Ledger, world: VerbWorld) {
    this.#store = store;
    this.#ledger = ledger;
    this.#world = world;
    store.onCommand((command) => this.#decide(command));
  }

  /** Never rejects. */
  async run(request: VerbRequest, caller: Caller, dryRun: boolean): Promise<VerbOutcome> {
    const outcome = await this.#run(request, caller, dryRun);
    const { error } = outcome;
    // An entry of the file is tried again and again; its trouble shows in the status.
    if (caller.rights === null && error !== null) return outcome;
    audit.publish({
      verb: request.verb,
      mirror: request.mirror,
      topics: request.all ? null : request.topics,
      clientAddress: caller.clientAddress,
      clientId: caller.clientId,
      dryRun,
      outcome: error === null ? 'done' : error.code === ErrorCode.UNKNOWN_SERVER_ERROR ? 'failed' : 'refused',
      message: error?.message ?? null,
    });
    return outcome;
  }

  async #run(request: VerbRequest, caller: Caller, dryRun: boolean): Promise<VerbOutcome> {
    try {
      if (caller.rights !== null) await authoriseChange(caller.rights);
      const plan = await planVerb(this.#world, request);
      if (plan.error !== null) return failure(plan.error, plan);
      if (caller.rights !== null) {
        const { destination } = this.#world;
        const isThere = async (topic: string) => (await destination.describeTopic(topic)) !== null;
        await authoriseTopics(caller.rights, plan.existing, isThere);
      }
      const wrong = wholeError(request, plan.topics);
      if (wrong !== null) return failure(wrong, plan);
      if (dryRun) return { error: null, topics: plan.topics, plan };
      return await this.#submit(request, caller, plan);
    } catch (error) {
      return failure(asVerbError(error), null);
    }
  }

  async #submit(request: VerbRequest, caller: Caller, plan: Plan): Promise<VerbOutcome> {
    const fine = plan.topics.filter(({ code }) => code === ErrorCode.NONE).map(({ topic }) => topic);
    // as the caller wrote it; `all` names nothing that the mirror does not know
    const remember = request.verb === 'start' ? { remember: request.topics } : {};
    const topics = request.verb === 'create' ? [] : fine;
    if (topics.length === 0 && (request.verb === 'stop' || request.verb === 'failover')) {
      return { error: null, topics: plan.topics, plan };
    }
    const away = await this.#outageThatLasts();
    if (away !== null) {
      const message = `nothing was changed: every verb needs ${away}`;
      return failure({ code: ErrorCode.COORDINATOR_NOT_AVAILABLE, message }, plan);
    }
    try {
      const result = await this.#store.submit({
        verb: request.verb,
        mirror: request.mirror,
        topics,
        options: { ...request.options, ...remember },
        issuer: `${caller.clientId ?? '-'} ${caller.clientAddress}`,
        deadlineMs: commandDeadlineMs,
      });
      const refused = plan.topics.filter(({ code }) => code !== ErrorCode.NONE);
      const done = result.topics.filter(({ topic }) => !refused.some((other) => other.topic === topic));
      const error = result.ok ? null : { code: result.errorCode, message: result.errorMessage };
      return { error, topics: [...refused, ...done], plan };
    } catch (error) {
      return failure(submitError(error, this.#store.outage()), plan);
    }
  }

  /** Commands are taken in state partition 0. Its leader may be moving just now. */
  async #outageThatLasts(): Promise<string | null> {
    const until = this.#world.now() + outageMs;
    for (let away = this.#store.outage(); ; away = this.#store.outage()) {
      if (away === null || this.#world.now() >= until) return away;
      await this.#world.sleep(250, new AbortController().signal);
    }
  }

  /** Repeatable: a command whose changes are in already plans to the same end and writes nothing. */
  async #decide(command: CommandRecord): Promise<CommandOutcome> {
    try {
      const request = requestOf(command);
      const plan = await this.#planAgain(request, command);
      if (plan === 'done') return { changes: [], ok: true };
      if (plan.error !== null) return refused(plan.error, plan.topics);
      const wrong = wholeError(request, plan.topics);
      if (wrong !== null) return refused(wrong, plan.topics);
      const topics = await this.#commit(plan, command.issuedAt);
      const late = wholeError(request, topics);
      if (late !== null) return refused(late, topics);
      return { changes: [], ok: true, topics, report: { steps: plan.steps, notes: plan.notes } };
    } catch (error) {
      if (error instanceof StateFenced) throw error;
      if (error instanceof StateAway) return refused(awayError(error), []);
      return refused(asVerbError(error), []);
    }
  }

  /** @returns the plan's topics, those with an error whose part of it could not be written now */
  async #commit(plan: Plan, at: number): Promise<readonly TopicError[]> {
    const written = await Promise.allSettled(
      plan.commits.map((commit) => this.#ledger.updateSoon((draft) => commit.put(draft, at))),
    );
    const away = new Map<string, VerbError>();
    for (const [index, one] of written.entries()) {
      if (one.status === 'fulfilled') continue;
      const topic = plan.commits[index]?.topic ?? null;
      if (topic === null || !(one.reason instanceof StateAway)) throw one.reason;
      away.set(topic, awayError(one.reason));
    }
    return plan.topics.map((known) => ({ ...known, ...away.get(known.topic) }));
  }

  async #planAgain(request: VerbRequest, command: CommandRecord): Promise<Plan | 'done'> {
    const mirror = this.#ledger.view.mirrors.get(request.mirror);
    if (request.verb === 'create' && mirror?.createdAt === command.issuedAt) return 'done';
    if (request.verb === 'delete' && mirror?.deletedAt === command.issuedAt) return 'done';
    // A source that hangs must not hold the commands behind, a failover least of all.
    return inTime(planMs, planVerb(this.#world, request), this.#world, () => {
      const message = `${request.verb} was given up, nothing was changed: the clusters did not answer within ${planMs / 1000} s`;
      return new Refused(ErrorCode.REQUEST_TIMED_OUT, message);
    });
  }
}

/** A start asks the source, which may be slow to answer. */
const commandDeadlineMs = 30_000;
const planMs = 20_000;
const outageMs = 10_000;

function failure(error: VerbError, plan: Plan | null): VerbOutcome {
  return { error, topics: plan?.topics ?? [], plan: { steps: plan?.steps ?? [], notes: plan?.notes ?? [] } };
}

function refused(error: VerbError, topics: readonly TopicError[]): CommandOutcome {
  return { changes: [], ok: false, errorCode: error.code, errorMessage: error.message, topics };
}

function awayError(error: StateAway): VerbError {
  const what = error.isOnItsWay
    ? 'It was being written: it is done when that is back, unless this process ends before. Ask describe, and ask again'
    : 'Nothing was changed';
  const message = `${error.message}. ${what}`;
  return { code: ErrorCode.COORDINATOR_NOT_AVAILABLE, message };
}

/** KIP-1279: the first topic's error is the whole's; here only when no topic is fine. */
function wholeError(request: VerbRequest, topics: readonly TopicError[]): VerbError | null {
  if (request.verb === 'create' || topics.length === 0) return null;
  if (topics.some(({ code }) => code === ErrorCode.NONE)) return null;
  const first = topics[0];
  return first === undefined ? null : { code: first.code, message: first.message };
}

function submitError(error: unknown, outage: string | null): VerbError {
  if (error instanceof StateTimeout) {
    const message = outage === null ? error.message : `${error.message} (${outage})`;
    return { code: ErrorCode.REQUEST_TIMED_OUT, message };
  }
  if (error instanceof StateFenced) return { code: ErrorCode.NOT_COORDINATOR, message: error.message };
  return asVerbError(error);
}
