import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { arrows } from '../../scripts/lint/arrows.mjs';
import { repository } from '../harness/kafka-home.ts';
import { type TempDir, tempDir } from '../harness/temp-dir.ts';

const folders = Object.keys(arrows);
const drawn = (from: string): readonly string[] => arrows[from] ?? [];

interface Finding {
  file: string;
  rule: string;
  message: string;
}

/** A project of its own with the real linter settings and compiler options, and the given files. */
function project(files: Readonly<Record<string, string>>): TempDir {
  const dir = tempDir('lint');
  for (const name of ['.oxlintrc.json', 'package.json', 'tsconfig.json', 'scripts/lint']) {
    cpSync(join(repository, name), join(dir.path, name), { recursive: true });
  }
  symlinkSync(join(repository, 'node_modules'), join(dir.path, 'node_modules'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir.path, name)), { recursive: true });
    writeFileSync(join(dir.path, name), text);
  }
  return dir;
}

/** Runs the lint script of package.json, as `npm run check` does, and gives its exit code and findings. */
function lint(files: Readonly<Record<string, string>>): { code: number | null; findings: Finding[] } {
  const dir = project(files);
  const { scripts } = JSON.parse(readFileSync(join(dir.path, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `${scripts.lint} -f json`], {
    cwd: dir.path,
    encoding: 'utf8',
    timeout: 55_000,
    env: { ...process.env, PATH: `${join(dir.path, 'node_modules', '.bin')}:${process.env.PATH}` },
  });
  dir.remove();
  expect(stdout, stderr).toMatch(/^\{/);
  const report = JSON.parse(stdout) as { diagnostics: { filename: string; code: string; message: string }[] };
  const findings = report.diagnostics.map(({ filename, code, message }) => ({
    file: filename,
    rule: code,
    message,
  }));
  return { code: status, findings };
}

/** A file in each folder of the table for the others to import. */
const targets = (): Record<string, string> =>
  Object.fromEntries(folders.map((folder) => [`${folder}/deep/part.ts`, 'export const part = 1;\n']));

const up = (from: string): string => '../'.repeat(from.split('/').length - 1);

const importOf = (from: string, to: string, how: (specifier: string) => string): Record<string, string> => ({
  [from]: how(`${up(from)}${to}`),
});

const value = (specifier: string): string =>
  `import { part } from '${specifier}';\nexport const here = part;\n`;

describe('import arrows', () => {
  test('the table holds the folders of the design, so that no arrow is open by a slip of name', () => {
    expect(folders).toEqual([
      'protocol',
      'src/config',
      'src/net',
      'src/gateway',
      'src/link',
      'src/control',
      'src/observe',
      'src/admin',
      'src/cli',
    ]);
  });

  test('every pair of folders that the design does not draw is refused, every drawn one passes', () => {
    const files = targets();
    const forbidden: string[] = [];
    for (const from of folders) {
      for (const to of folders) {
        if (from === to) continue;
        const file = `${from}/deep/to-${to.replace('/', '-')}.ts`;
        Object.assign(files, importOf(file, `${to}/deep/part.ts`, value));
        if (!drawn(from).includes(to)) forbidden.push(file);
      }
    }
    const { code, findings } = lint(files);
    expect(code).not.toBe(0);
    expect(findings.map(({ file }) => file).sort()).toEqual(forbidden.sort());
    expect(new Set(findings.map(({ rule }) => rule))).toEqual(new Set(['isthmus(import-arrows)']));
    const whole = folders.flatMap((from) => drawn(from).filter((to) => folders.includes(to)));
    expect(forbidden.length).toBe(folders.length * (folders.length - 1) - whole.length);
  });

  test('one import arrow drawn backwards makes the lint of npm run check fail', () => {
    const { code, findings } = lint({ ...targets(), 'src/link/a.ts': value('../gateway/deep/part.ts') });
    expect(code).toBe(1);
    expect(findings).toEqual([
      {
        file: 'src/link/a.ts',
        rule: 'isthmus(import-arrows)',
        message: 'src/link must not import src/gateway/deep/part.ts; it may import: protocol, src/net',
      },
    ]);
  });

  test('single files that are drawn open nothing beside them', () => {
    const files: Record<string, string> = {
      ...targets(),
      'src/observe/channels.ts': 'export const part = 1;\n',
    };
    Object.assign(files, importOf('protocol/a.ts', 'src/observe/channels.ts', value));
    Object.assign(files, importOf('src/admin/a.ts', 'src/control/deep/part.ts', value));
    Object.assign(files, importOf('src/control/a.ts', 'src/link/deep/part.ts', value));
    Object.assign(files, importOf('src/link/a.ts', 'src/observe/deep/part.ts', value));
    Object.assign(files, importOf('src/loose.ts', 'protocol/deep/part.ts', value));
    const { findings } = lint(files);
    expect(findings.map(({ file }) => file).sort()).toEqual([
      'protocol/a.ts',
      'src/admin/a.ts',
      'src/control/a.ts',
      'src/link/a.ts',
      'src/loose.ts',
    ]);
  });

  test('an arrow is seen in every form that an import can take', () => {
    const to = '../gateway/x.ts';
    const { findings } = lint({
      'src/gateway/x.ts': 'export const part = 1;\nexport type Part = number;\n',
      'src/link/detour.ts': value('../link/../gateway/x.ts'),
      'src/link/dynamic.ts': `export const here = () => import('${to}');\n`,
      'src/link/everything.ts': `export * from '${to}';\n`,
      'src/link/re-export.ts': `export { part } from '${to}';\n`,
      'src/link/type-only.ts': `import type { Part } from '${to}';\nexport type Here = Part;\n`,
      'src/link/type-inline.ts': `export type Here = import('${to}').Part;\n`,
    });
    expect(findings.map(({ file }) => file.replace('src/link/', '')).sort()).toEqual([
      'detour.ts',
      'dynamic.ts',
      'everything.ts',
      're-export.ts',
      'type-inline.ts',
      'type-only.ts',
    ]);
  });

  test('the drawn single files pass, ports for their types alone', () => {
    const part = 'export const part = 1;\nexport type Part = number;\n';
    const types = (to: string) => `import type { Part } from '${to}';\nexport type Here = Part;\n`;
    const files = {
      'src/observe/channels.ts': part,
      'src/link/index.ts': part,
      'src/link/ports.ts': part,
      'src/gateway/ports.ts': part,
      'src/control/index.ts': part,
      'src/gateway/a.ts': value('../observe/channels.ts'),
      'src/control/a.ts': value('../link/index.ts'),
      'src/control/b.ts': types('../link/ports.ts'),
      'src/control/c.ts': types('../gateway/ports.ts'),
      'src/admin/a.ts': value('../control/index.ts'),
      'src/app.ts': `${value('./control/a.ts').replaceAll('part', 'here')}`.replace(
        'export const here = here;',
        'export const app = here;',
      ),
    };
    expect(lint(files)).toEqual({ code: 0, findings: [] });
    const wrong = lint({ ...files, 'src/control/d.ts': value('../gateway/ports.ts') });
    expect(wrong.findings.map(({ file }) => file)).toEqual(['src/control/d.ts']);
  });

  test('the library that tests compare with is refused in the product', () => {
    const load = "export const load = () => import('@platformatic/kafka');\n";
    const { code, findings } = lint({
      'src/control/a.ts': load,
      'test/a.ts': load,
      'src/net/a.ts': load,
      'src/app.ts': "import { Admin } from '@platformatic/kafka';\nexport const admin = Admin;\n",
    });
    expect(code).toBe(1);
    expect(findings.map(({ file, rule }) => `${file} ${rule}`).sort()).toEqual([
      'src/app.ts isthmus(library-home)',
      'src/control/a.ts isthmus(library-home)',
      'src/net/a.ts isthmus(library-home)',
    ]);
  });
});
