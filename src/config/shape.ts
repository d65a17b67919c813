import type { z } from 'zod';
import { nearest } from './edit-distance.ts';
import type { Findings } from './findings.ts';
import { type Known, type Unknown, unknown } from './known.ts';
import type { Path } from './places.ts';
import { secretText } from './schema.ts';
import { expectation, found, sentence } from './shape-sentences.ts';
import { type Entry, type MapTree, plainOf, type Tree } from './yaml-tree.ts';

/**
 * Reads a value by its schema, part by part: what has a fault is told and becomes `unknown`, everything beside it is
 * read all the same. `undefined` for the tree is a key that is not there.
 */
export function readShape<S extends z.ZodType>(
  schema: S,
  tree: Tree | undefined,
  path: Path,
  findings: Findings,
): Known<z.output<S>> | Unknown {
  return read(schema as unknown as Schema, tree, path, findings) as Known<z.output<S>> | Unknown;
}

/** What we look at of a zod schema. */
interface Schema {
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly element?: Schema;
  readonly description?: string | undefined;
  readonly def: { readonly type: string; readonly format?: string; readonly innerType?: Schema };
  safeParse(value: unknown): z.ZodSafeParseResult<unknown>;
}

function read(schema: Schema, tree: Tree | undefined, path: Path, findings: Findings): unknown {
  if (tree === undefined) {
    const otherwise = schema.safeParse(undefined);
    if (otherwise.success) return otherwise.data;
    const [issue] = otherwise.error.issues;
    findings.fault(
      path,
      `${issue === undefined ? 'a value' : expectation(issue, inWords(peel(schema)))} is missing`,
    );
    return unknown;
  }
  if (tree.kind === 'unknown') return unknown;
  const inner = peel(schema);
  if (inner.shape !== undefined) return readMap(inner, inner.shape, tree, path, findings);
  if (inner.element !== undefined) return readList(inner.element, tree, path, findings);
  return readLeaf(schema, inner, tree, path, findings);
}

function readMap(
  schema: Schema,
  shape: Readonly<Record<string, Schema>>,
  tree: Tree,
  path: Path,
  findings: Findings,
): unknown {
  if (tree.kind !== 'map') {
    const isEmpty = tree.kind === 'leaf' && tree.value === null;
    findings.fault(
      path,
      `must be a map of keys and values, found ${found(tree)}${wayToMap(schema, path, isEmpty)}`,
    );
    return unknown;
  }
  const entries = entriesOf(tree, shape, path, findings);
  return Object.fromEntries(
    Object.entries(shape).map(([key, inner]) => [
      key,
      read(inner, entries.get(key)?.tree, [...path, key], findings),
    ]),
  );
}

/** The keys that it needs; of an empty entry of a list, or a key with nothing behind it, also the other way. */
function wayToMap(schema: Schema, path: Path, isEmpty: boolean): string {
  const required = Object.entries(schema.shape ?? {})
    .filter(([, inner]) => !inner.safeParse(undefined).success)
    .map(([key]) => key);
  const fill = required.length > 0 ? `write its keys (${required.join(', ')})` : 'write its keys';
  if (!isEmpty) return required.length > 0 ? `; ${fill}` : '';
  return typeof path.at(-1) === 'number' ? `; ${fill}, or remove the dash` : `; ${fill}, or remove it`;
}

function readList(element: Schema, tree: Tree, path: Path, findings: Findings): unknown {
  if (tree.kind !== 'list') {
    const way =
      tree.kind === 'map' && peel(element).shape !== undefined ? '; begin each entry with "- "' : '';
    findings.fault(path, `must be a list, found ${found(tree)}${way}`);
    return unknown;
  }
  return tree.items.map((item, index) => read(element, item, [...path, index], findings));
}

function readLeaf(schema: Schema, inner: Schema, tree: Tree, path: Path, findings: Findings): unknown {
  const plain = plainOf(tree);
  if (plain === null) return unknown;
  const parsed = schema.safeParse(plain.value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const isSecret = (inner as unknown) === secretText;
  const isOptional = schema.safeParse(undefined).success;
  findings.fault(
    path,
    sentence(issue, tree, { key: String(path.at(-1)), isSecret, isOptional, expects: inWords(inner) }),
  );
  return unknown;
}

/**
 * The entries of a map by the keys that it may have. Keys that it may not have are told; one that is nearly a key that
 * is missing stands for that one, so that neither its absence nor what depends on it is told on top.
 */
export function entriesOf(
  tree: MapTree,
  shape: Readonly<Record<string, unknown>>,
  path: Path,
  findings: Findings,
): ReadonlyMap<string, Entry> {
  const known = Object.keys(shape);
  const { entries } = tree;
  let before: string | null = null;
  for (const [key, entry] of entries) {
    const at: Path = [...path, key];
    if (/^\d+(-\d+)?$/.test(key) && entry.tree.kind === 'leaf' && entry.tree.value === null) {
      findings.keyFault(at, `this is no key; inside { } a list like 1,${key} stands in quotes or in [ ]`);
      const cut = before === null ? undefined : entries.get(before);
      if (before !== null && cut !== undefined) entries.set(before, untold(cut));
      continue;
    }
    before = key;
    if (Object.hasOwn(shape, key)) continue;
    const near = nearest(key, known);
    const hint = near === null ? `known are ${known.join(', ')}` : `did you mean ${near}?`;
    findings.keyFault(at, `this key is not known here; ${hint}`);
    if (near !== null && !entries.has(near)) entries.set(near, meant(entry, shape[near] as Schema));
  }
  return entries;
}

/** Only when it has the shape: what a guess brings up is no fault of the file. */
function meant(entry: Entry, schema: Schema): Entry {
  const inner = peel(schema);
  const { tree } = entry;
  const fits =
    inner.shape !== undefined
      ? tree.kind === 'map'
      : inner.element !== undefined
        ? tree.kind === 'list'
        : inner.def.type === 'record'
          ? tree.kind === 'map'
          : schema.safeParse(plainOf(tree)?.value).success;
  return fits ? entry : untold(entry);
}

function untold({ keyAt, tree }: Entry): Entry {
  return { keyAt, tree: { kind: 'unknown', at: tree.at } };
}

/** Of whole numbers zod only says `number` when a text stands there. */
function inWords({ description, def }: Schema): string | undefined {
  return description ?? (def.format === 'safeint' ? 'a whole number' : undefined);
}

function peel(schema: Schema): Schema {
  let here = schema;
  while (here.shape === undefined && here.element === undefined && here.def.innerType !== undefined) {
    here = here.def.innerType;
  }
  return here;
}
