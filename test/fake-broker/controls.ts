/**
 * What a test can do to the next requests of an API.
 *
 * `before` acts ahead of the request's effect, `after` behind it (the effect stands, its answer is touched).
 * As on a broker, one connection works on one request at a time: while one is held, those behind it wait.
 */
export type Action =
  /** answers with this error code in every entry, without an effect */
  | { readonly kind: 'fail'; readonly code: number }
  | { readonly kind: 'delay'; readonly ms: number; readonly when?: 'before' | 'after' }
  /** waits for `release()` of the handle */
  | { readonly kind: 'hold'; readonly when?: 'before' | 'after' }
  /** closes the connection (reset) before or after the effect, without an answer */
  | { readonly kind: 'cut'; readonly when?: 'before' | 'after' }
  /** the effect stands, no answer is ever sent, the connection goes on with the next request */
  | { readonly kind: 'silence' };

export interface RequestInfo {
  readonly node: number;
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string | null;
  /** Counts connections to the whole fake cluster from 1. */
  readonly connection: number;
  /** The request frame without its size. */
  readonly frame: Buffer;
}

export interface ControlHandle {
  /** Resolves with the request that the action met. */
  readonly met: Promise<RequestInfo>;
  /** Lets a held request go on; does nothing for other actions. */
  release(): void;
  /** Takes the action back if it has met no request yet. */
  cancel(): void;
}

export interface ControlOptions {
  readonly node?: number;
  readonly when?: (request: RequestInfo) => boolean;
  /** How many requests it acts on; default 1. `met` resolves at the first. */
  readonly times?: number;
}

export interface ActiveControl {
  readonly action: Action;
  readonly released: Promise<void>;
}

interface Waiting extends ActiveControl {
  readonly apiKey: number;
  readonly options: ControlOptions;
  left: number;
  meet(request: RequestInfo): void;
}

export class Controls {
  readonly #waiting: Waiting[] = [];

  add(apiKey: number, action: Action, options: ControlOptions = {}): ControlHandle {
    const met = Promise.withResolvers<RequestInfo>();
    const released = Promise.withResolvers<void>();
    const entry: Waiting = {
      action,
      apiKey,
      options,
      left: options.times ?? 1,
      released: released.promise,
      meet: met.resolve,
    };
    this.#waiting.push(entry);
    return {
      met: met.promise,
      release: released.resolve,
      cancel: () => {
        const at = this.#waiting.indexOf(entry);
        if (at >= 0) this.#waiting.splice(at, 1);
      },
    };
  }

  /** The first control set that fits the request, used up by it. */
  take(request: RequestInfo): ActiveControl | undefined {
    const at = this.#waiting.findIndex(
      ({ apiKey, options }) =>
        apiKey === request.apiKey &&
        (options.node === undefined || options.node === request.node) &&
        (options.when === undefined || options.when(request)),
    );
    const entry = this.#waiting[at];
    if (entry === undefined) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.#waiting.splice(at, 1);
    entry.meet(request);
    return entry;
  }
}
