import { apiName } from '../../protocol/api-keys.ts';
import type { ApiRule } from './rule.ts';

/**
 * Opaque by default, decoded by need: which requests and responses have to be read, decided once from the active
 * rules and looked up by (key, version) for each frame.
 */
export type Treatment =
  | {
      readonly kind: 'pass';
      readonly request: ApiRule['request'] | null;
      readonly response: ApiRule['response'] | null;
    }
  /** a version that the client was not offered: a broker closes the connection, so do we */
  | { readonly kind: 'refused'; readonly why: string };

/**
 * APIs that are neither offered nor forwarded, from this version on: their answers carry addresses of brokers or
 * controllers that we can't rewrite yet. Those of the controllers (52-54, 59, 82) no broker serves for clients; they
 * stand here so that nothing depends on that.
 */
const HELD_BACK: ReadonlyMap<number, number> = new Map([
  [52, 1],
  [53, 1],
  [54, 1],
  [55, 2],
  [59, 1],
  // a member of a share group that may not fetch would wait for records without a word, so it is not let in
  [76, 0],
  [78, 0],
  [79, 0],
  [82, 0],
]);

/** The last key of stock Kafka that we know, before those that KIP-1279 wants (4.4 gave the first of these away). */
const LAST_STOCK_KEY = 93;

/** Versions above share the last cell: only ApiVersions, which is answered at any version, gets there. */
const LAST_CELL = 63;

const OPAQUE: Treatment = { kind: 'pass', request: null, response: null };

export class DecodeTable {
  readonly #rules: ReadonlyMap<number, ApiRule>;
  readonly #cells = new Map<number, Treatment[]>();

  constructor(rules: readonly ApiRule[]) {
    this.#rules = new Map(rules.map((rule) => [rule.key, rule]));
    for (const rule of rules) {
      const cells: Treatment[] = [];
      const last = Math.min(rule.versions[1], LAST_CELL);
      for (let version = 0; version <= last; version += 1) cells[version] = treatmentOf(rule, version);
      this.#cells.set(rule.key, cells);
    }
  }

  lookup(key: number, version: number): Treatment {
    const rule = this.#rules.get(key);
    if (rule !== undefined) {
      if (version < 0 || version > rule.versions[1]) return notOffered(key, version);
      return this.#cells.get(key)?.[Math.min(version, LAST_CELL)] ?? notOffered(key, version);
    }
    const heldFrom = HELD_BACK.get(key);
    return heldFrom !== undefined && version >= heldFrom ? notOffered(key, version) : OPAQUE;
  }

  /**
   * The range that clients are offered of what the broker announces; null: the API is left out. APIs that we
   * need not read pass at any version (case P5). One of a newer broker that we don't know at all is not offered: nobody
   * here can tell whether its answers carry addresses.
   */
  offered(key: number, min: number, max: number): { min: number; max: number } | null {
    const rule = this.#rules.get(key);
    if (rule !== undefined) {
      const range = {
        min: rule.keepAnnouncedMin === true ? min : Math.max(min, rule.versions[0]),
        max: Math.min(max, rule.versions[1]),
      };
      return range.min <= range.max ? range : null;
    }
    if (key > LAST_STOCK_KEY) return null;
    const heldFrom = HELD_BACK.get(key);
    if (heldFrom === undefined) return { min, max };
    return min < heldFrom ? { min, max: Math.min(max, heldFrom - 1) } : null;
  }
}

function treatmentOf(rule: ApiRule, version: number): Treatment {
  if (version < rule.versions[0]) return notOffered(rule.key, version);
  return {
    kind: 'pass',
    request: rule.request !== undefined && version >= rule.request.from ? rule.request : null,
    response: rule.response !== undefined && version >= rule.response.from ? rule.response : null,
  };
}

function notOffered(key: number, version: number): Treatment {
  return { kind: 'refused', why: `${apiName(key)} version ${version} is not offered by this gateway` };
}
