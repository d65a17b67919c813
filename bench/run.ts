import { readdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import type { Scenario, ScenarioResult } from './scenario.ts';

/**
 * `npm run bench -- [SCENARIO] [--json FILE] [--quick] [--list]`: runs one scenario, or all of them one after
 * the other. A scenario is a file in `scenarios/`, loaded only when it is run.
 * Exit: 0 done and within its limits, 1 failed or outside, 2 wrong usage, 130 interrupted.
 */

const USAGE = 'usage: npm run bench -- [SCENARIO] [--json FILE] [--quick] [--list]';
const FOLDER = new URL('./scenarios/', import.meta.url);

async function main(): Promise<number> {
  const { values, positionals, tokens } = parseArgs({
    options: { json: { type: 'string' }, quick: { type: 'boolean' }, list: { type: 'boolean' } },
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const names = await scenarioNames();
  if (values.list === true) {
    for (const name of names) console.log(`${name.padEnd(10)} ${(await load(name)).about}`);
    return 0;
  }
  if (values.json === true) return usageError('--json needs a file name');
  const wanted = positionals[0];
  if (wanted !== undefined && !names.includes(wanted)) {
    return usageError(`no scenario ${wanted}; there are: ${names.join(', ')}`);
  }
  const known = new Set(['json', 'quick', 'list']);
  const args = tokens
    .filter((token) => token.kind === 'option' && !known.has(token.name))
    .map((token) =>
      token.kind === 'option' ? `--${token.name}${token.value === undefined ? '' : `=${token.value}`}` : '',
    );

  const abort = new AbortController();
  process.once('SIGINT', () => {
    console.error('interrupted: ending what was started (Ctrl-C again to leave at once)');
    abort.abort(new Error('interrupted'));
    process.once('SIGINT', () => process.exit(130));
  });
  const results: Record<string, object> = {};
  let ok = true;
  for (const name of wanted === undefined ? names : [wanted]) {
    const scenario = await load(name);
    console.log(`${scenario.name}: ${scenario.about}`);
    const options = { log: console.log, quick: values.quick === true, signal: abort.signal, args };
    const result: ScenarioResult = await scenario.run(options);
    ok &&= result.ok !== false;
    results[name] = { scenario: name, ...provenance(values.quick === true), ...result };
  }
  if (typeof values.json === 'string') {
    const content = wanted === undefined ? { ok, scenarios: results } : results[wanted];
    await writeFile(values.json, `${JSON.stringify(content, null, 2)}\n`);
    console.log(`figures written to ${values.json}`);
  }
  return ok ? 0 : 1;
}

/** What a figure is worth nothing without. */
function provenance(quick: boolean): object {
  return {
    date: new Date().toISOString(),
    node: process.version,
    cpu: `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    ...(quick ? { quick } : {}),
  };
}

async function scenarioNames(): Promise<string[]> {
  const files = await readdir(FOLDER);
  return files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3))
    .toSorted();
}

async function load(name: string): Promise<Scenario> {
  const module = (await import(new URL(`${name}.ts`, FOLDER).href)) as { scenario?: Scenario };
  if (module.scenario === undefined) throw new Error(`bench/scenarios/${name}.ts exports no scenario`);
  return module.scenario;
}

function usageError(message: string): number {
  console.error(`${message}\n${USAGE}`);
  return 2;
}

try {
  process.exitCode = await main();
} catch (error) {
  const interrupted = error instanceof Error && error.message === 'interrupted';
  console.error(interrupted ? 'interrupted' : error);
  process.exitCode = interrupted ? 130 : 1;
}
