import type { z } from 'zod';
import type { Tree } from './yaml-tree.ts';

/** Turns what zod found into sentences that say what was expected, what stands there and what would be right. */
type Issue = z.core.$ZodIssue;

export interface Expected {
  /** Of the value, whose name may tell its unit. */
  readonly key: string;
  /** Nothing of the value is repeated then. */
  readonly isSecret: boolean;
  /** The key may be left out. */
  readonly isOptional: boolean;
  /** In words, when the kind alone says too little. */
  readonly expects: string | undefined;
}

export function sentence(issue: Issue | undefined, tree: Tree, expected: Expected): string {
  const what = expected.isSecret && !isEmpty(tree) ? '' : `, found ${found(tree)}`;
  switch (issue?.code) {
    case 'invalid_type':
    case 'invalid_value':
    case 'invalid_union':
      return `must be ${expectation(issue, expected.expects)}${what}${wayOut(issue, tree, expected)}`;
    case 'too_small':
      return `must be at least ${issue.minimum}${what}`;
    case 'too_big':
      return `must be at most ${issue.maximum}${what}`;
    default:
      return issue?.message ?? 'is not valid';
  }
}

function wayOut(issue: Issue, tree: Tree, { key, isOptional, expects, isSecret }: Expected): string {
  if (isEmpty(tree)) return isOptional ? '; fill it in or remove the key' : '';
  if (tree.kind !== 'leaf' || issue.code !== 'invalid_type' || isSecret) return '';
  if (issue.expected === 'string' && expects === undefined) return `; write it in quotes: "${tree.text}"`;
  const { value } = tree;
  if (typeof value !== 'string') return '';
  const unit =
    /^\d+ ?[a-zA-Z]+$/.test(value) &&
    (key.endsWith('Ms') ? 'milliseconds' : key.endsWith('Bytes') && 'bytes');
  if (unit) return `; write the number of ${unit} alone`;
  const isWhole = issue.expected === 'int' || issue.expected === 'number';
  if (isWhole && /^-?\d+$/.test(value)) return '; write it without quotes';
  if (issue.expected === 'boolean' && /^(true|false)$/.test(value)) return '; write it without quotes';
  return '';
}

export function expectation(issue: Issue, expects?: string): string {
  if (issue.code === 'invalid_value') return `one of ${issue.values.map(String).join(', ')}`;
  if (expects !== undefined) return expects;
  if (issue.code !== 'invalid_type') return 'a value';
  switch (issue.expected) {
    case 'string':
      return 'a text';
    case 'int':
      return 'a whole number';
    case 'number':
      return 'a number';
    case 'boolean':
      return 'true or false';
    case 'array':
      return 'a list';
    case 'object':
    case 'record':
      return 'a map of keys and values';
    default:
      return issue.expected;
  }
}

/** What stands there, in words; a long text may be anything and is not repeated. */
export function found(tree: Tree): string {
  switch (tree.kind) {
    case 'map':
      return 'a map';
    case 'list':
      return 'a list';
    case 'leaf':
      if (tree.value === null) return 'nothing';
      if (typeof tree.value !== 'string') return tree.text;
      return tree.value.length > 40 ? 'a text' : JSON.stringify(tree.value);
    default:
      return 'nothing';
  }
}

function isEmpty(tree: Tree): boolean {
  return tree.kind === 'leaf' && tree.value === null;
}
