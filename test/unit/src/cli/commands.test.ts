import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Running } from '../../../../src/cli/run.ts';
import { errorText, summaries } from '../../../../src/cli/summary.ts';
import { bytes, duration, renderTable, screen } from '../../../../src/cli/table.ts';
import { splitTopics } from '../../../../src/cli/topic-list.ts';
import type { PartitionRow } from '../../../../src/cli/rows.ts';
import { brokerStub } from '../net/broker-stub.ts';
import { fakeGateway, row, run } from './fake-gateway.ts';

const cleanups: (() => Promise<void> | void)[] = [];
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isthmus-cli-'));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  rmSync(folder, { recursive: true });
});

function yaml(text: string): string {
  const file = join(folder, 'isthmus.yaml');
  writeFileSync(file, text);
  return file;
}

const GOOD = `clusters:
  a: { bootstrap.servers: "127.0.0.1:1" }
gateways:
  - { name: g, cluster: a, bind: "127.0.0.1:1000", nodeIds: 1, brokerPorts: 1001 }
`;

describe('check', () => {
  test('a good file: a line and 0', async () => {
    const file = yaml(GOOD);
    expect(await run(['check', '-c', file])).toEqual({
      code: 0,
      out: `${file}: ok (1 cluster, 1 gateway, 0 mirrors)\n`,
      err: '',
    });
  });

  test('a bad file: every fault with its place, and 1', async () => {
    const file = yaml(GOOD.replace('"127.0.0.1:1"', 'a').replace('nodeIds: 1,', 'nodeIds: 1-3,'));
    const { code, err, out } = await run(['check', '-c', file]);
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err.split('\n')).toEqual([
      `${file}:2:27 clusters.a.bootstrap.servers: "a" has no port; write a:9092`,
      `${file}:4:79 gateways.0.brokerPorts: 1 ports for 3 node ids; they are matched in order, so the counts must agree`,
      `2 faults in ${file}`,
      '',
    ]);
  });

  test('a file that is not there', async () => {
    const { code, err } = await run(['check', '-c', '/nowhere/x.yaml']);
    expect(err).toMatch(/^\/nowhere\/x\.yaml:1:1 there is no such file/);
    expect(code).toBe(1);
  });

  test('--schema prints the JSON Schema', async () => {
    const { code, out } = await run(['check', '--schema']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ type: 'object', additionalProperties: false });
  });

  test('--connect names a cluster that can not be reached', async () => {
    const { code, err } = await run(['check', '-c', yaml(GOOD), '--connect']);
    expect(err).toMatch(/^cluster a: can't be reached: 127\.0\.0\.1:1: .*connect-failed/);
    expect(code).toBe(1);
  });
});

describe('run', () => {
  const running = (more: Partial<Running>, log: string[]): Running => ({
    ready: Promise.resolve(),
    close: async () => {
      log.push('closed');
    },
    ...more,
  });

  test('prints ready, and closes in order at a signal', async () => {
    const log: string[] = [];
    const abort = new AbortController();
    const ready = Promise.resolve().then(() => {
      setImmediate(() => abort.abort());
    });
    const { code, out } = await run(['run', '-c', yaml(GOOD)], {
      interrupted: abort.signal,
      parts: { startRun: async () => running({ ready }, log) },
    });
    expect(out).toBe('ready\n');
    expect(log).toEqual(['closed']);
    expect(code).toBe(0);
  });

  test('a destination whose state can not be used: the reason, closed, and 1', async () => {
    const log: string[] = [];
    const { code, err, out } = await run(['run', '-c', yaml(GOOD)], {
      parts: {
        startRun: async () =>
          running({ ready: Promise.reject(new Error('state is newer than this version')) }, log),
      },
    });
    expect(err).toBe('state is newer than this version\n');
    expect(out).toBe('');
    expect(log).toEqual(['closed']);
    expect(code).toBe(1);
  });

  test('a log level that there is not is wrong use and starts nothing', async () => {
    const log: string[] = [];
    const { code, err } = await run(['run', '-c', yaml(GOOD), '--log-level', 'loud'], {
      parts: { startRun: async () => running({}, log) },
    });
    expect(err).toContain('--log-level is debug, info, warn or error, not loud');
    expect(log).toEqual([]);
    expect(code).toBe(2);
  });

  test('another instance took over: the reason and 1', async () => {
    const log: string[] = [];
    const { code, err } = await run(['run', '-c', yaml(GOOD)], {
      parts: {
        startRun: async () => running({ ended: Promise.resolve('another instance took west over') }, log),
      },
    });
    expect(err).toBe('another instance took west over\n');
    expect(log).toEqual(['closed']);
    expect(code).toBe(1);
  });

  test('a file with clusters only has nothing to run: said, instead of an end without a word', async () => {
    const log: string[] = [];
    const file = yaml('clusters: { a: { bootstrap.servers: "127.0.0.1:1" } }\n');
    const { code, err, out } = await run(['run', '-c', file], {
      parts: { startRun: async () => running({}, log) },
    });
    expect(err).toBe(`nothing to run: ${file} has no gateways, no mirrors and no admin\n`);
    expect({ code, out, log }).toEqual({ code: 1, out: '', log: [] });
  });

  test('a wrong file starts nothing', async () => {
    let started = false;
    const { code } = await run(['run', '-c', yaml('clusters: 1\n')], {
      parts: {
        startRun: () => {
          started = true;
          return Promise.reject(new Error('no'));
        },
      },
    });
    expect(code).toBe(1);
    expect(started).toBe(false);
  });
});

describe('dump', () => {
  test.each([
    [['dump'], /name segment files, or --bootstrap-server HOST:PORT --topic TOPIC/],
    [['dump', '--bootstrap-server', 'a:1'], /--topic is missing/],
    [['dump', 'x.log', '--bootstrap-server', 'a:1'], /not both/],
    [['dump', '--bootstrap-server', 'a:1', '--topic', 't', '--from', '-1'], /--from is a whole number/],
    [['dump', '--bootstrap-server', 'a:1', '--topic', 't', '--from', '9', '--to', '9'], /not below --to 9/],
    [['dump', 'x.log', '-o', 'table'], /-o is text or json/],
  ])('%j is wrong use', async (argv, text) => {
    const { code, err } = await run(argv);
    expect(err).toMatch(text);
    expect(code).toBe(2);
  });

  test('an empty segment: said, so that nothing does not look like a failure', async () => {
    const file = join(folder, '00000000000000000000.log');
    writeFileSync(file, '');
    expect(await run(['dump', file])).toEqual({ code: 0, out: '', err: 'no batches\n' });
  });

  test('a file that can not be read is a fault', async () => {
    const { code, err } = await run(['dump', '/nowhere/0.log']);
    expect(err).toMatch(/\/nowhere\/0\.log: can't be opened \(ENOENT\)\n1 fault found/);
    expect(code).toBe(1);
  });
});

describe('cluster-mirrors', () => {
  test.each([
    [['cluster-mirrors'], /exactly one of --create, --start/],
    [['cluster-mirrors', '--list', '--describe'], /exactly one of/],
    [['cluster-mirrors', '--start', '--topics', 'a'], /--start needs --mirror NAME/],
    [['cluster-mirrors', '--start', '--mirror', 'm'], /--start needs --topics/],
    [['cluster-mirrors', '--create', '--mirror', 'm'], /--create needs --mirror-config FILE/],
  ])('%j is wrong use', async (argv, text) => {
    const { code, err } = await run(argv);
    expect(err).toMatch(text);
    expect(code).toBe(2);
  });

  test('pause is refused by name', async () => {
    const { code, err } = await run(['cluster-mirrors', '--pause', '--mirror', 'm', '--topics', 'a']);
    expect(err).toMatch(/^pause comes later/);
    expect(code).toBe(1);
  });

  test('describe prints the table of the tool, and its JSON', async () => {
    const partition = {
      partitionIndex: 0,
      sourceOffset: 5,
      destinationOffset: -1,
      lag: -1,
      stateValue: 'FAILED',
      retryAttempt: -1,
      errorMessage: '100%s',
    };
    const made = await fakeGateway(() => ({}), {
      99: () => ({
        mirrors: [
          { mirrorName: 'm', topics: [{ topicName: `${'x'.repeat(50)}-end`, partitions: [partition] }] },
        ],
      }),
    });
    cleanups.push(() => made.close());
    const at = ['--bootstrap-server', made.address];
    const table = (await run(['cluster-mirrors', '--describe', ...at])).out.split('\n');
    expect(table[0]).toMatch(
      /^MIRROR {25}TOPIC {36}PARTITION {2}SOURCE-OFFSET {3}DESTINATION-OFFSET LAG {8}STATE$/,
    );
    expect(table[1]).toMatch(/^m {30}\.\.\.x+-end 0 {10}5 {15}- {18}- {10}FAILED$/);
    const json = await run(['cluster-mirrors', '--describe', '--json', ...at]);
    expect(JSON.parse(json.out)).toEqual([
      {
        mirror: 'm',
        topic: `${'x'.repeat(50)}-end`,
        partition: 0,
        sourceOffset: 5,
        destinationOffset: -1,
        lag: -1,
        state: 'FAILED',
        retryAttempt: -1,
        errorMessage: '100%s',
      },
    ]);
    expect((await run(['cluster-mirrors', '--describe', '--failed', ...at])).out).toMatch(
      /NonRetryable +100%s/,
    );
  });

  test('start sends names and expressions apart', async () => {
    const bodies: unknown[] = [];
    const made = await fakeGateway(() => ({}), {
      95: (body) => {
        bodies.push(body);
        return { topics: [{ name: 'orders' }, { name: 'pay-1' }] };
      },
    });
    cleanups.push(() => made.close());
    const { code, out } = await run([
      'cluster-mirrors',
      '--start',
      '--mirror',
      'm',
      '--topics',
      'orders, pay-.*',
      '--bootstrap-server',
      made.address,
    ]);
    expect(code).toBe(0);
    expect(out).toBe('Started 2 mirror topic(s) in mirror m: [orders, pay-1]\n');
    expect(bodies).toMatchObject([
      { mirrorName: 'm', topics: [{ topicName: 'orders' }], includePatterns: ['pay-.*'] },
    ]);
  });

  test('start of topics of which some are refused: those that begin, and each error on a line', async () => {
    const made = await fakeGateway(() => ({}), {
      95: () => ({
        errorCode: 138,
        errorMessage: 'a belongs to mirror x',
        topics: [
          { name: 'a', errorCode: 138, errorMessage: 'a belongs to mirror x' },
          { name: 'b' },
          { name: 'c', errorCode: 3, errorMessage: null },
        ],
      }),
    });
    cleanups.push(() => made.close());
    const flags = ['--start', '--mirror', 'm', '--topics', 'a,b,c', '--bootstrap-server', made.address];
    expect(await run(['cluster-mirrors', ...flags])).toEqual({
      code: 1,
      out: 'Started 1 mirror topic(s) in mirror m: [b]\n',
      err: 'a: TOPIC_ALREADY_IN_CLUSTER_MIRROR: a belongs to mirror x\nc: UNKNOWN_TOPIC_OR_PARTITION\n',
    });
  });

  test('a broker is told apart before anything is sent: its key 94 may be something else', async () => {
    const broker = await brokerStub();
    cleanups.push(() => broker.close());
    const { code, err } = await run([
      'cluster-mirrors',
      '--list',
      '--bootstrap-server',
      `127.0.0.1:${broker.port}`,
    ]);
    expect(err).toMatch(/is no Isthmus gateway/);
    expect(code).toBe(1);
  });

  test('an error of the whole ends with 1', async () => {
    const made = await fakeGateway(() => ({}), {
      98: () => ({ errorCode: 31, errorMessage: 'DESCRIBE is needed', mirrors: [] }),
    });
    cleanups.push(() => made.close());
    const { code, err } = await run(['cluster-mirrors', '--list', '--bootstrap-server', made.address]);
    expect(err).toBe('CLUSTER_AUTHORIZATION_FAILED: DESCRIBE is needed\n');
    expect(code).toBe(1);
  });
});

describe('small parts', () => {
  test('topics are split at commas, not inside a pattern', () => {
    expect(splitTopics('a, b ,/c{1,2}/, /d,e/')).toEqual(['a', 'b', '/c{1,2}/', '/d,e/']);
    expect(splitTopics('a')).toEqual(['a']);
    expect(() => splitTopics('a,')).toThrow(/an empty name/);
  });

  test('a table keeps its columns whatever stands in it', () => {
    const text = renderTable(
      [
        { title: 'A', of: (value: string) => value, max: 6 },
        { title: 'N', of: (value: string) => String(value.length), right: true },
      ],
      ['abcdefghij', 'x\u001b[31m\ny'],
    );
    expect(text).toBe('A        N\n...hij  10\n...m y   8\n');
  });

  test('a screen cuts lines that are longer than the terminal is wide', () => {
    expect(screen('12345678\n1234567890\n', 8)).toBe('\u001b[H\u001b[2J12345678\n12345...\n');
    expect(screen('1234567890\n')).toBe('\u001b[H\u001b[2J1234567890\n');
  });

  test('a terminal that says it is 0 wide, as one without a size does, is taken as wide enough', () => {
    expect(screen('1234567890\n', 0)).toBe('\u001b[H\u001b[2J1234567890\n');
    expect(errorText(summaries([], null, 0, [{ mirror: 'm', error: 'some words' }]), 0)).toBe(
      'm: some words\n',
    );
  });

  test('an error stands below the table, whole, broken between words', () => {
    const lines = summaries([], null, 0, [
      { mirror: 'm', error: 'cluster east has\nno topic orders' },
      { mirror: 'n' },
    ]);
    expect(errorText(lines)).toBe('m: cluster east has no topic orders\n');
    expect(errorText(lines, 20)).toBe('m: cluster east has\n  no topic orders\n');
    expect(errorText(lines, 4)).toBe('m:\n  cluster\n  east\n  has\n  no\n  topic\n  orders\n');
  });

  test('durations and sizes in words', () => {
    expect([5, 4_200, 90_000, 600_000, 9_000_000].map(duration)).toEqual([
      '5 ms',
      '4.2 s',
      '90 s',
      '10 min',
      '2.5 h',
    ]);
    expect([5, 1_500, 2_500_000, 3e9].map(bytes)).toEqual(['5 B', '1.5 kB', '2.5 MB', '3.00 GB']);
  });

  test('rates and the time to catch up come from two looks', () => {
    const look = (end: number, lag: number, size: number): PartitionRow[] => [
      row(0, 'MIRRORING', {
        destinationOffset: end,
        lag,
        counts: { dataBytes: size },
      }) as unknown as PartitionRow,
      row(1, 'FAILED', { destinationOffset: -1, lag: -1, errorMessage: 'why' }) as unknown as PartitionRow,
    ];
    expect(summaries(look(200, 50, 3_000), look(100, 150, 1_000), 2_000)).toEqual([
      {
        mirror: 'east-to-west',
        partitions: 2,
        states: '1 MIRRORING, 1 FAILED',
        lag: 50,
        unknownLag: 1,
        held: 0,
        recordsPerSecond: 50,
        bytesPerSecond: 1_000,
        catchUpMs: 1_000,
        error: 'why',
      },
    ]);
    // a mirror without partitions stands there too, with what keeps it from having some
    const mirrors = [
      { mirror: 'east-to-west', error: 'not this one' },
      { mirror: 'new', error: 'cluster east has no topic orders' },
    ];
    expect(summaries(look(2, 0, 0), null, 0, mirrors).map(({ mirror, error }) => [mirror, error])).toEqual([
      ['east-to-west', 'why'],
      ['new', 'cluster east has no topic orders'],
    ]);
    expect(summaries(look(1, 5, 0), null, 0)[0]).toMatchObject({ recordsPerSecond: null, catchUpMs: null });
  });
});

test('on a terminal, run draws the mirrors with the last log lines below', async () => {
  const abort = new AbortController();
  const ready = Promise.resolve().then(() => {
    setImmediate(() => abort.abort());
  });
  const { out, err } = await run(['run', '-c', yaml(GOOD)], {
    terminal: true,
    interrupted: abort.signal,
    parts: {
      startRun: async (_config, _options, io) => {
        io.err('12:00:00 INFO  a line of the log\n');
        return {
          ready,
          rows: () => [row(0, 'MIRRORING') as unknown as PartitionRow],
          close: async () => io.err('stopped\n'),
        };
      },
    },
  });
  expect(out).toMatch(
    /^ready\n.*ready since \d{4}-\S+Z.*\n\nMIRROR +PARTITIONS.*\neast-to-west +1 +1 MIRRORING +10 .*\n\n12:00:00 INFO {2}a line of the log\n$/s,
  );
  expect(err).toBe('12:00:00 INFO  a line of the log\nstopped\n');
});
