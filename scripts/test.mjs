// Runs the suites and closes with a table of them and the line `N passed, N failed`. A test that is skipped or left to
// be done fails the run, as does a suite without tests: a green run means that all of it ran.
//   npm test                     everything
//   npm test -- FILTER ...       files whose path contains a filter; other flags go to vitest as they are
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const suites = {
  unit: 'unit',
  differential: 'differential (codecs against @platformatic/kafka)',
  'fake-broker': 'fake broker',
  lint: 'lint (import arrows)',
  regressions: 'regressions',
  integration: 'real broker (Kafka 4.4.0 and 3.9.1)',
  clients: 'foreign clients (Java, librdkafka, kafka-python)',
};

const work = mkdtempSync(join(tmpdir(), 'isthmus-test-'));
const report = join(work, 'report.json');
const wanted = process.argv.slice(2);

const vitest = spawn(
  process.execPath,
  [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...wanted,
  ],
  { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
);
// Ctrl-C reaches vitest by itself; we stay to report and to pass on what is sent to us alone.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => vitest.kill('SIGTERM'));
vitest.on('exit', (code, signal) => {
  process.exitCode = conclude(code ?? 1, signal);
  rmSync(work, { recursive: true, force: true });
});

function conclude(code, signal) {
  const results = readReport();
  const counts = new Map(
    Object.keys(suites).map((suite) => [suite, { passed: 0, failed: 0, left: 0, ms: 0 }]),
  );
  for (const file of results) count(file, counts);
  const complaints = wanted.length > 0 ? [] : emptySuites(counts);
  const total = { passed: 0, failed: 0, left: 0, ms: 0 };
  for (const one of counts.values()) for (const field of Object.keys(total)) total[field] += one[field];
  if (total.left > 0) complaints.push(`${total.left} tests were skipped or are still to be written`);
  if (total.passed + total.failed === 0) complaints.push('no test ran');
  if (code !== 0 && total.failed === 0) complaints.push(`vitest ended with ${signal ?? code}, see above`);
  print(counts, complaints);
  process.stdout.write(`${total.passed} passed, ${total.failed + complaints.length} failed\n`);
  return total.failed + complaints.length > 0 ? 1 : code;
}

function readReport() {
  try {
    return JSON.parse(readFileSync(report, 'utf8')).testResults;
  } catch {
    return [];
  }
}

function count(file, counts) {
  const suite = relative(join(root, 'test'), file.name).split(sep)[0];
  if (!counts.has(suite)) counts.set(suite, { passed: 0, failed: 0, left: 0, ms: 0 });
  const one = counts.get(suite);
  for (const { status } of file.assertionResults)
    one[status === 'passed' || status === 'failed' ? status : 'left']++;
  // A file that broke before or beside its tests counts as one failure.
  if (file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed'))
    one.failed++;
  one.ms += Math.max(0, file.endTime - file.startTime);
}

function emptySuites(counts) {
  const empty = [...counts].filter(([, one]) => one.passed + one.failed === 0);
  return empty.map(([suite]) => `suite ${suite} has no tests`);
}

function print(counts, complaints) {
  const rows = [...counts].filter(([, one]) => one.passed + one.failed + one.left > 0);
  const lines = rows.map(([suite, one]) => {
    const numbers = [one.passed, one.failed, one.left].map((number) => String(number).padStart(8)).join('');
    return `${(suites[suite] ?? suite).padEnd(52)}${numbers}${(one.ms / 1000).toFixed(1).padStart(9)}`;
  });
  const head = `${'suite'.padEnd(52)}  passed  failed skipped  seconds`;
  process.stdout.write(
    `\n${[head, ...lines, ...complaints.map((text) => `failed: ${text}`)].join('\n')}\n\n`,
  );
}
