import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatFault, loadText } from '../../src/config/index.ts';

// Own fault: a token without quotes that is a number, and what a reference gave in the wrong place, stood in the fault.
function told(text: string, env: NodeJS.ProcessEnv = {}, file = 'f.yaml'): string {
  const result = loadText(file, text, env);
  return [...(result.ok ? [] : result.faults), ...result.warnings].map(formatFault).join('\n');
}

const CLUSTER = 'clusters: { a: { bootstrap.servers: "a:1" } }\n';

test.each([
  ['a number', '48151623', 'admin.token: must be a reference, ${file:PATH} or ${env:NAME}'],
  ['a text', 'hunter-48151623', 'admin.token: a secret stands in a file or in the environment'],
  ['a list', '[48151623]', 'admin.token: must be a reference'],
])('an inline token that is %s', (_title, token, message) => {
  for (const key of ['token', 'tokn']) {
    const text = told(`${CLUSTER}admin: { bind: "127.0.0.1:1", ${key}: ${token} }\n`);
    expect(text).not.toContain('48151623');
    if (key === 'token') expect(text).toContain(message);
  }
});

test('what a reference gives is not shown where it is no address', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isthmus-config-'));
  try {
    writeFileSync(join(folder, 'password'), 'hunter 48151623\n');
    for (const reference of ['${file:password}', '${env:PASSWORD}', 'x:1,${env:PASSWORD}']) {
      const text = told(
        `clusters: { a: { bootstrap.servers: "${reference}" } }\n`,
        { PASSWORD: 'hunter 48151623' },
        join(folder, 'f.yaml'),
      );
      expect(text).toContain(`what ${reference} gives is no host:port`);
      expect(text).not.toMatch(/hunter|48151623/);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('every reference that gives nothing is told', () => {
  const text = told('clusters: { a: { bootstrap.servers: "${env:A},${env:B},${vault:c},${file:d}" } }\n');
  expect(text.split('\n').map((line) => line.replace(/^.*servers: /, ''))).toEqual([
    '${env:A}: the environment has no variable A',
    '${env:B}: the environment has no variable B',
    '${vault:c} is no reference; write ${env:NAME} or ${file:PATH}',
    '${file:d}: there is no such file (the path is taken from the folder of f.yaml)',
  ]);
});

test('a protocol that comes from the environment is judged by what it is', () => {
  const text = 'clusters: { a: { bootstrap.servers: "a:1", security.protocol: "${env:P}" } }\n';
  expect(told(text, { P: 'PLAINTEXT' })).toBe('');
  expect(told(text, { P: 'SASL_SSL' })).toMatch(/\$\{env:P\} is not PLAINTEXT: TLS and SASL come later/);
});

test('inline secrets of properties that come later are not repeated', () => {
  const text = told(
    'clusters: { a: { bootstrap.servers: "a:1", sasl.password: hunter2, ssl.key.password: 48151623 } }\n',
  );
  expect(text).not.toMatch(/hunter2|48151623/);
});
