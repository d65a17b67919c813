import { describe, expect, test } from 'vitest';
import { formatFault, loadText } from '../../../../src/config/index.ts';
import {
  areIndependent,
  broken,
  FAULTS,
  type FaultKind,
  fit,
  TOKEN,
  VALID,
} from './support/fault-catalogue.ts';

const env = { TOKEN };

function told(text: string): string[] {
  const result = loadText('f.yaml', text, env);
  return result.ok ? [] : result.faults.map(formatFault);
}

/** What is wrong with what was told about a file with these faults; empty when all is well. */
function judge(kinds: readonly FaultKind[]): string[] {
  const { text, places } = broken(kinds);
  const left = told(text);
  const problems: string[] = [];
  const mustAll = areIndependent(kinds);
  let found = 0;
  for (const [index, { title, says }] of kinds.entries()) {
    const at = left.findIndex((line) => line.startsWith(`f.yaml:${places[index]} `) && says.test(line));
    if (at >= 0) {
      left.splice(at, 1);
      found += 1;
    } else if (mustAll) problems.push(`not told at ${places[index]}: ${title}`);
  }
  if (found === 0) problems.push('nothing was told');
  problems.push(...left.map((line) => `told beside it: ${line}`));
  return problems.length === 0 ? [] : [`${kinds.map(({ title }) => title).join(' + ')}:`, ...problems];
}

describe('every fault of a file is told at once, at its place, and nothing else', () => {
  test('the file without a fault is valid', () => {
    expect(told(VALID)).toEqual([]);
    expect(FAULTS.length).toBeGreaterThanOrEqual(25);
  });

  test.each(FAULTS.map((one) => [one.title, one] as const))('%s', (_title, one) => {
    expect(judge([one])).toEqual([]);
  });

  test('every pair', () => {
    const problems: string[] = [];
    let pairs = 0;
    for (const [index, one] of FAULTS.entries()) {
      for (const other of FAULTS.slice(index + 1)) {
        if (!fit([one, other])) continue;
        pairs += 1;
        problems.push(...judge([one, other]));
      }
    }
    expect(problems).toEqual([]);
    expect(pairs).toBeGreaterThan(1_000);
  });

  test('many triples, and files with all faults that fit together', () => {
    const problems: string[] = [];
    let state = 7;
    const next = (): FaultKind => {
      state = (state * 48_271) % 0x7fffffff;
      return FAULTS[state % FAULTS.length] as FaultKind;
    };
    for (let round = 0; round < 500; round += 1) {
      const kinds = [...new Set([next(), next(), next()])];
      if (fit(kinds)) problems.push(...judge(kinds));
    }
    for (let round = 0; round < 50; round += 1) {
      const kinds: FaultKind[] = [];
      for (let tries = 0; tries < 200; tries += 1) {
        const more = [...new Set([...kinds, next()])];
        if (fit(more) && areIndependent(more)) kinds.splice(0, kinds.length, ...more);
      }
      problems.push(...judge(kinds));
    }
    expect(problems).toEqual([]);
  });
});

test('whatever a file holds, it is read or refused with places in it, and never throws', () => {
  const pieces = VALID.split(/(\s+|[{}[\],:"])/);
  const strange = [
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
    ':',
    '- ',
    '\n',
    '\t',
    '&a ',
    '*a',
    '<<: ',
    '!x ',
    'null',
    '~',
    '|',
    '>',
    '#',
    '---\n',
    '0',
    '-1',
    '1e99',
    '.nan',
    '${',
    '__proto__',
    '/(/',
    '\u0000',
    '\uD800',
    '% ',
  ];
  let state = 11;
  const random = (below: number): number => {
    state = (state * 48_271) % 0x7fffffff;
    return state % below;
  };
  for (let round = 0; round < 400; round += 1) {
    const changed = [...pieces];
    for (let changes = 1 + random(4); changes > 0; changes -= 1) {
      const at = random(changed.length);
      const kinds = [
        () => changed.splice(at, 1 + random(6)),
        () => changed.splice(at, 0, strange[random(strange.length)] ?? ''),
        () => changed.splice(at, 1, strange[random(strange.length)] ?? ''),
        () => changed.splice(at, 0, ...changed.slice(random(changed.length), at)),
      ];
      kinds[random(kinds.length)]?.();
    }
    const text = changed.slice(0, 3_000).join('');
    const lines = text.replaceAll('\r\n', '\n').split('\n');
    const result = loadText('f.yaml', text, env);
    for (const { line, column, message } of result.ok ? [] : result.faults) {
      if (message === '' || line > lines.length || column > (lines[line - 1]?.length ?? 0) + 1) {
        throw new Error(`${line}:${column} ${message} of ${JSON.stringify(text)}`);
      }
    }
  }
});
