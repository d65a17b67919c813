import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import type { Path } from './places.ts';

/** The values of a YAML document with their places: aliases followed, merge keys applied, every key once. */
export type Tree = MapTree | ListTree | LeafTree | { readonly kind: 'unknown'; readonly at: number };

export interface MapTree {
  readonly kind: 'map';
  /** Offset in the text. */
  readonly at: number;
  /** May gain an entry: a misspelt key that stands for the one that is meant. */
  readonly entries: Map<string, Entry>;
}

export interface ListTree {
  readonly kind: 'list';
  readonly at: number;
  readonly items: readonly Tree[];
}

export interface LeafTree {
  readonly kind: 'leaf';
  readonly at: number;
  readonly value: string | number | boolean | null;
  /** As written, for numbers that are taken verbatim. */
  readonly text: string;
}

export interface Entry {
  readonly keyAt: number;
  readonly tree: Tree;
}

export interface TreeFault {
  readonly at: number;
  readonly path: Path;
  readonly message: string;
}

const DEEPEST = 32;
/** Of all aliases together: a few lines of aliases of aliases stand for billions of values. */
const MOST_ALIASED_VALUES = 20_000;
const STANDARD_TAG = /^(tag:yaml\.org,2002:|!!)(str|int|float|bool|null|map|seq)$/;

export function treeOf(root: Node | null): { readonly tree: Tree; readonly faults: readonly TreeFault[] } {
  const builder = new TreeBuilder();
  return { tree: builder.value(root, [], 0), faults: builder.faults };
}

class TreeBuilder {
  readonly faults: TreeFault[] = [];
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliased = 0;
  /** Above 0 while what an alias stands for is built. */
  #inAlias = 0;

  value(node: unknown, path: Path, otherwise: number): Tree {
    const at = (node as Node | null)?.range?.[0] ?? otherwise;
    if (this.#inAlias > 0) this.#aliased += 1;
    if (this.#aliased > MOST_ALIASED_VALUES) return { kind: 'unknown', at };
    if (isAlias(node)) return this.#alias(node.source, at, path);
    if (path.length > DEEPEST) return this.#fault(at, path, `nested more than ${DEEPEST} deep`);
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) {
      return { kind: 'leaf', at, value: null, text: '' };
    }
    if (node.anchor !== undefined && this.#inAlias === 0) this.#anchors.set(node.anchor, node);
    if (node.tag !== undefined && !STANDARD_TAG.test(node.tag)) {
      return this.#fault(
        at,
        path,
        `the tag ${node.tag.replace('tag:yaml.org,2002:', '!!')} means nothing here; remove it`,
      );
    }
    if (isScalar(node)) return leaf(node.value, node.source, at);
    this.#open.add(node);
    try {
      if (isMap(node)) return this.#map(node, path, at);
      return {
        kind: 'list',
        at,
        items: node.items.map((item, index) => this.value(item, [...path, index], at)),
      };
    } finally {
      this.#open.delete(node);
    }
  }

  #map(map: YAMLMap, path: Path, at: number): MapTree {
    const entries = new Map<string, Entry>();
    const merged: Entry[] = [];
    for (const { key, value } of map.items as Pair<unknown, unknown>[]) {
      const keyAt = (key as Node | null)?.range?.[0] ?? at;
      const name = keyText(key);
      if (name === null) {
        this.#fault(keyAt, path, 'a key is a text');
        continue;
      }
      const tree = this.value(value, [...path, name], keyAt);
      if (name === '<<') {
        merged.push({ keyAt, tree });
        continue;
      }
      if (entries.has(name)) {
        this.#fault(keyAt, [...path, name], 'this key stands there twice; keep one');
        continue;
      }
      entries.set(name, { keyAt, tree });
    }
    for (const { keyAt, tree } of merged) this.#merge(entries, tree, keyAt, path);
    return { kind: 'map', at, entries };
  }

  /** Keys that stand in the map itself win, then those of the first map that is merged. */
  #merge(entries: Map<string, Entry>, tree: Tree, keyAt: number, path: Path): void {
    for (const one of tree.kind === 'list' ? tree.items : [tree]) {
      if (one.kind === 'map') {
        for (const [name, entry] of one.entries) if (!entries.has(name)) entries.set(name, entry);
      } else if (one.kind !== 'unknown') {
        this.#fault(keyAt, [...path, '<<'], '<< merges maps only: write <<: *ANCHOR of a map');
      }
    }
  }

  #alias(name: string, at: number, path: Path): Tree {
    const node = this.#anchors.get(name);
    if (node === undefined) {
      return this.#fault(
        at,
        path,
        `no anchor &${name} stands above; name one that does, or write the value out`,
      );
    }
    if (this.#open.has(node)) {
      return this.#fault(at, path, `*${name} stands inside of what it stands for; write the value out`);
    }
    this.#inAlias += 1;
    const tree = this.value(node, path, at);
    this.#inAlias -= 1;
    if (this.#aliased > MOST_ALIASED_VALUES && this.#inAlias === 0) {
      const message = `the aliases up to here stand for more than ${MOST_ALIASED_VALUES.toLocaleString('en')} values; write fewer`;
      if (!this.faults.some((fault) => fault.message === message)) this.#fault(at, path, message);
      return { kind: 'unknown', at };
    }
    return { ...tree, at };
  }

  #fault(at: number, path: Path, message: string): Tree {
    this.faults.push({ at, path, message });
    return { kind: 'unknown', at };
  }
}

function leaf(value: unknown, source: string | undefined, at: number): LeafTree {
  switch (typeof value) {
    case 'string':
      return { kind: 'leaf', at, value, text: value };
    case 'number':
    case 'boolean':
      return { kind: 'leaf', at, value, text: source ?? String(value) };
    default:
      return { kind: 'leaf', at, value: null, text: '' };
  }
}

function keyText(key: unknown): string | null {
  if (!isScalar(key) || key.value === null) return null;
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
}

/** As plain values; null when a part of it is unknown. */
export function plainOf(tree: Tree): { readonly value: unknown } | null {
  switch (tree.kind) {
    case 'unknown':
      return null;
    case 'leaf':
      return { value: tree.value };
    case 'list': {
      const items = tree.items.map(plainOf);
      return items.includes(null) ? null : { value: items.map((item) => item?.value) };
    }
    default: {
      const entries = [...tree.entries].map(([key, entry]) => [key, plainOf(entry.tree)] as const);
      if (entries.some(([, one]) => one === null)) return null;
      return { value: new Map(entries.map(([key, one]) => [key, one?.value])) };
    }
  }
}
