import { expect, test } from 'vitest';
import { formatFault, loadText } from '../../src/config/index.ts';
import { chosenOf, parseTopicChoice } from '../../src/control/topic-choice.ts';
import { coveredBy, parseTopicEntry, SlowPattern } from '../../src/config/topic-entries.ts';

// Own fault: a pattern such as /(a+)+$/ was taken, and its match against a topic name held `check` and the start up for
// ever.
function faults(include: string, others = ''): string[] {
  const text = `clusters: { a: { bootstrap.servers: "a:1" }, b: { bootstrap.servers: "b:1" }, c: { bootstrap.servers: "c:1" } }
mirrors:
  - { name: m, source: a, destination: b, topics: { include: [${include}] } }
${others}`;
  const result = loadText('f.yaml', text, {});
  return result.ok ? [] : result.faults.map(formatFault);
}

test.each(['(a+)+$', '(ab|ab)*c', '(\\w+-?)*', 'orders-(a+)+x', '(long-name|long-name)*x'])(
  '/%s/ is refused with its place and the way out',
  (pattern) => {
    expect(faults(`'/${pattern}/'`)).toEqual([
      `f.yaml:3:63 mirrors.0.topics.include.0: /${pattern}/ takes too long to match some names; write it without repetitions inside repetitions`,
    ]);
  },
);

test.each([
  'payments-.*',
  '.*-.*-.*',
  '([a-z]+-)*[a-z]+',
  '(eu|us|ap)-.*-v[0-9]+',
  '(?!.*-dlq).*',
  '.*-.*-.*-.*x',
  '.*\\d+.*\\d+',
  '(.+)-(.+)-(.+)-(.+)',
  '[a-z]{1,20}\\.[a-z]{1,20}',
])('/%s/ is taken', (pattern) => {
  expect(faults(`'/${pattern}/'`)).toEqual([]);
});

test('a pattern that only some names hold up ends with an error that names it', () => {
  const entry = parseTopicEntry('/q(zy|z|y)*#/');
  expect(() => coveredBy([entry], [`q${'zy'.repeat(60)}`])).toThrow(SlowPattern);
});

test('a pattern is one by itself, not only inside of our group', () => {
  expect(faults("'/a)|(b/'")).toEqual([
    expect.stringMatching(/include\.0: \/a\)\|\(b\/ is not a regular expression: Unmatched '\)'$/),
  ]);
});

test('a slow pattern of one mirror keeps no fault of another', () => {
  const second = '  - { name: n, source: c, destination: b, topics: { include: [orders, __x] } }\n';
  expect(faults("orders, '/(a+)+$/'", second).map((fault) => fault.split(' ')[0])).toEqual([
    'f.yaml:3:71',
    'f.yaml:4:63',
    'f.yaml:4:71',
  ]);
});

test('verbs take no pattern that is none by itself either', () => {
  expect(() => parseTopicChoice(['/a)|(b/'])).toThrow(/\/a\)\|\(b\/ is not a regular expression/);
  expect([...chosenOf(parseTopicChoice(['/a|b/']), ['a', 'b', 'ab'])]).toEqual(['a', 'b']);
});
