import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { destinationText } from '../../../../src/cli/destination-status.ts';
import { brokerStub } from '../net/broker-stub.ts';
import { type Answer, type FakeGateway, fakeGateway, row, run } from './fake-gateway.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function gateway(answer: Answer): Promise<FakeGateway> {
  const made = await fakeGateway(answer);
  cleanups.push(() => made.close());
  return made;
}

const at = (made: FakeGateway): string[] => ['--bootstrap-server', made.address];

describe('wrong use ends with 2 and says what is missing', () => {
  test.each([
    [
      'no gateway',
      ['mirror', 'list'],
      /no gateway is named: --bootstrap-server HOST:PORT, or set ISTHMUS_BOOTSTRAP_SERVER/,
    ],
    [
      'a bad address',
      ['mirror', 'list', '--bootstrap-server', 'west'],
      /--bootstrap-server: "west" has no port; write west:9092/,
    ],
    ['no source', ['mirror', 'create', 'm'], /create needs --source CLUSTER/],
    ['an empty source', ['mirror', 'create', 'm', '--source', ' '], /create needs --source CLUSTER/],
    ['an empty name', ['mirror', 'create', '', '--source', 'east'], /the name of the mirror is empty/],
    ['no name', ['mirror', 'start'], /missing required argument 'name'/],
    ['no topics', ['mirror', 'start', 'm'], /start needs either --topics T,\.\.\. or --all/],
    ['topics and all', ['mirror', 'stop', 'm', '--all', '--topics', 'a'], /stop needs either/],
    [
      'a bad topic',
      ['mirror', 'start', 'm', '--topics', 'a,b*'],
      /"b\*" is not a topic name; a regular expression is written between slashes/,
    ],
    ['an empty topic', ['mirror', 'start', 'm', '--topics', 'a,,b'], /an empty name/],
    ['an internal topic', ['mirror', 'start', 'm', '--topics', '__x'], /never mirrored/],
    ['an unclosed pattern', ['mirror', 'start', 'm', '--topics', '/a.*'], /has no closing \//],
    ['an unknown verb', ['mirror', 'explode', 'm'], /unknown command 'explode'/],
    ['an unknown flag', ['mirror', 'list', '--fast'], /unknown option '--fast'/],
    ['an unknown format', ['mirror', 'list', '-o', 'xml'], /-o is table, json or yaml, not xml/],
    [
      'failover without --yes',
      ['mirror', 'failover', 'm', '--all'],
      /can't be undone .*; add --yes, or --dry-run to see the plan/,
    ],
    ['stop without --yes', ['mirror', 'stop', 'm', '--all'], /add --yes/],
    ['delete without --yes', ['mirror', 'delete', 'm'], /forgets what a failback needs.*add --yes/],
  ])('%s', async (_title, argv, text) => {
    const { code, err } = await run(argv);
    expect(err).toMatch(text);
    expect(code).toBe(2);
  });

  test('nothing at all shows the help', async () => {
    const { code, err } = await run([]);
    expect(code).toBe(2);
    expect(err).toMatch(/Usage: isthmus/);
  });
});

describe('verbs that come later are refused by name', () => {
  test.each([
    'pause',
    'resume',
    'recover',
    'promote',
    'reverse',
    'rebuild',
    'truncate-and-restore',
    'switch',
  ])('%s', async (verb) => {
    const { code, err } = await run(['mirror', verb, 'm', '--all', '--yes']);
    expect(err).toMatch(new RegExp(`^${verb} comes later`));
    expect(code).toBe(1);
  });
});

describe('create', () => {
  test('sends the source, the topics and the options', async () => {
    const made = await gateway(() => ({
      ok: true,
      topics: [],
      plan: { steps: [], notes: ['nothing is copied yet'] },
    }));
    const argv = [
      'mirror',
      'create',
      'm',
      '--source',
      'east',
      '--topics',
      'a, /b.{1,2}/ ,c',
      '--replication-factor',
      '2',
      '--copier',
      'external',
    ];
    const { code, out } = await run([...argv, ...at(made)]);
    expect(code).toBe(0);
    expect(out).toBe('mirror m created\nnote: nothing is copied yet\n');
    expect(made.asked).toEqual([
      {
        verb: 'create',
        mirror: 'm',
        topics: null,
        all: false,
        dryRun: false,
        options: {
          source: 'east',
          include: ['a', '/b.{1,2}/', 'c'],
          exclude: [],
          copier: 'external',
          config: { 'topics.replication.factor': '2' },
        },
      },
    ]);
  });

  test('some topics begin, some do not: both are told, exit 1', async () => {
    const made = await gateway(() => ({
      ok: false,
      topics: [{ topic: 'a', error: { code: 3, name: 'UNKNOWN', message: 'no topic a' } }, { topic: 'b' }],
    }));
    expect(await run(['mirror', 'create', 'm', '--source', 'east', '--start', ...at(made)])).toEqual({
      code: 1,
      out: 'mirror m created, and it begins to mirror: b\n',
      err: 'a: no topic a (UNKNOWN)\n',
    });
  });

  test('a refusal ends with 1 and the reason', async () => {
    const made = await gateway(() => ({
      ok: false,
      error: { code: 136, name: 'CLUSTER_MIRROR_ALREADY_EXISTS', message: 'a mirror named m exists already' },
      topics: [],
      plan: { steps: [], notes: [] },
    }));
    const { code, err, out } = await run(['mirror', 'create', 'm', '--source', 'east', ...at(made)]);
    expect(err).toBe(
      'create m was refused: a mirror named m exists already (CLUSTER_MIRROR_ALREADY_EXISTS)\n',
    );
    expect(out).toBe('');
    expect(code).toBe(1);
  });

  test('the environment can name the gateway', async () => {
    const made = await gateway(() => ({ ok: true }));
    const { code } = await run(['mirror', 'create', 'm', '--source', 'east'], {
      env: { ISTHMUS_BOOTSTRAP_SERVER: made.address },
    });
    expect(code).toBe(0);
  });
});

describe('start', () => {
  test('waits until every partition mirrors and prints the table', async () => {
    let looks = 0;
    const made = await gateway(({ verb }) => {
      if (verb === 'start') return { ok: true, topics: [{ topic: 'orders' }] };
      looks += 1;
      return {
        ok: true,
        describe: [
          row(0, 'MIRRORING'),
          row(1, looks < 3 ? 'LOG_ALIGNMENT' : 'MIRRORING'),
          { ...row(0, 'FAILED'), topic: 'other' },
        ],
      };
    });
    const { code, out, err } = await run([
      'mirror',
      'start',
      'east-to-west',
      '--topics',
      'orders',
      ...at(made),
    ]);
    expect(code).toBe(0);
    expect(looks).toBe(3);
    expect(err).toBe('1 of 2 partitions MIRRORING, 1 LOG_ALIGNMENT\n2 of 2 partitions MIRRORING\n');
    expect(out.split('\n')[0]).toMatch(
      /^MIRROR +TOPIC +PARTITION +SOURCE-OFFSET +DESTINATION-OFFSET +LAG +HELD +STATE/,
    );
    expect(out).not.toContain('other');
  });

  test('a topic that is refused and one that begins: both told, exit 1', async () => {
    const made = await gateway(({ verb }) =>
      verb === 'start'
        ? {
            ok: false,
            topics: [
              { topic: 'orders' },
              {
                topic: 'gone',
                error: {
                  code: 3,
                  name: 'UNKNOWN_TOPIC_OR_PARTITION',
                  message: 'cluster east has no topic gone',
                },
              },
            ],
          }
        : { ok: true, describe: [row(0, 'MIRRORING')] },
    );
    const { code, out, err } = await run([
      'mirror',
      'start',
      'east-to-west',
      '--topics',
      'orders,gone',
      ...at(made),
    ]);
    expect(code).toBe(1);
    expect(err).toMatch(/gone: cluster east has no topic gone \(UNKNOWN_TOPIC_OR_PARTITION\)/);
    expect(out).toMatch(/orders .*MIRRORING/);
  });

  test('one topic, refused: told once', async () => {
    const error = { code: 3, name: 'UNKNOWN_TOPIC_OR_PARTITION', message: 'cluster east has no topic gone' };
    const made = await gateway(() => ({ ok: false, error, topics: [{ topic: 'gone', error }] }));
    const { code, err } = await run(['mirror', 'start', 'east-to-west', '--topics', 'gone', ...at(made)]);
    expect(code).toBe(1);
    expect(err).toBe(
      'start east-to-west was refused: cluster east has no topic gone (UNKNOWN_TOPIC_OR_PARTITION)\n',
    );
  });

  test('a partition that fails ends with 1 and its reason', async () => {
    const made = await gateway(({ verb }) =>
      verb === 'start'
        ? { ok: true, topics: [{ topic: 'orders' }] }
        : {
            ok: true,
            describe: [
              row(0, 'MIRRORING'),
              row(1, 'FAILED', { errorMessage: 'offset gap at 17', retryAttempt: -1 }),
            ],
          },
    );
    const { code, err, out } = await run(['mirror', 'start', 'east-to-west', '--all', ...at(made)]);
    expect(code).toBe(1);
    expect(err).toMatch(/orders-1 FAILED: offset gap at 17\n$/);
    expect(out).toMatch(/FAILED +never +offset gap at 17/);
  });

  test('a FAILED that is retried and passes is waited for', async () => {
    const states = ['FAILED', 'FAILED', 'LOG_ALIGNMENT', 'MIRRORING'];
    const made = await gateway(({ verb }) =>
      verb === 'start'
        ? { ok: true, topics: [{ topic: 'orders' }] }
        : { ok: true, describe: [row(0, states.shift() ?? 'MIRRORING', { retryAttempt: 1 })] },
    );
    const { code, err } = await run(['mirror', 'start', 'east-to-west', '--all', ...at(made)]);
    expect(code).toBe(0);
    expect(err).toMatch(
      /0 of 1 partitions MIRRORING, 1 FAILED\n.*1 LOG_ALIGNMENT\n1 of 1 partitions MIRRORING\n$/s,
    );
  });

  test('--no-wait stops at the result', async () => {
    const made = await gateway(() => ({ ok: true, topics: [{ topic: 'orders' }] }));
    const { code, out } = await run(['mirror', 'start', 'm', '--all', '--no-wait', ...at(made)]);
    expect(code).toBe(0);
    expect(out).toBe('start of mirror m is under way: orders\n\n'.replace('\n\n', '\n'));
    expect(made.asked.map(({ verb }) => verb)).toEqual(['start']);
  });

  test('--timeout ends the wait, not the verb', async () => {
    const made = await gateway(({ verb }) =>
      verb === 'start'
        ? { ok: true, topics: [{ topic: 'orders' }] }
        : { ok: true, describe: [row(0, 'LOG_ALIGNMENT')] },
    );
    const { code, err } = await run(['mirror', 'start', 'm', '--all', '--timeout', '0.05', ...at(made)]);
    expect(code).toBe(1);
    expect(err).toMatch(
      /not MIRRORING after 50 ms \(0 of 1 partitions MIRRORING, 1 LOG_ALIGNMENT\); the verb goes on, see: isthmus mirror describe m/,
    );
  });

  test('--dry-run prints the plan and changes nothing', async () => {
    const made = await gateway(() => ({
      ok: true,
      topics: [{ topic: 'orders' }],
      plan: {
        steps: [{ do: 'create topic and mirror it', topic: 'orders', partitions: 4 }],
        notes: ['a sentence'],
      },
    }));
    const { code, out } = await run(['mirror', 'start', 'm', '--all', '--dry-run', ...at(made)]);
    expect(code).toBe(0);
    expect(out).toBe(
      'dry run, nothing was changed\n  create topic and mirror it: topic orders, partitions 4\n  note: a sentence\n',
    );
    expect(made.asked).toEqual([
      { verb: 'start', mirror: 'm', topics: null, all: true, dryRun: true, options: {} },
    ]);
  });
});

describe('failover', () => {
  const loss = {
    topic: 'orders',
    partition: 0,
    state: 'STOPPED',
    lastMirroredOffset: 89,
    barrierOffset: 90,
    sourceEnd: 100,
    sourceEndAgeMs: 4_200,
    difference: 10,
    cutTransactions: ['-7'],
    unverified: [{ from: 80, to: 90, why: 'the source did not answer' }],
    damage: [],
  };
  const answering: Answer = ({ verb }) => {
    if (verb === 'describe') return { ok: true, describe: [row(0, 'STOPPED')] };
    if (verb === 'report') return { ok: true, report: [loss] };
    return {
      ok: true,
      topics: [{ topic: 'orders' }],
      plan: { steps: [{ do: 'stop topic', topic: 'orders' }], notes: [] },
    };
  };

  test('waits for STOPPED and prints the loss report from state', async () => {
    const made = await gateway(answering);
    const { code, out } = await run(['mirror', 'failover', 'east-to-west', '--all', '--yes', ...at(made)]);
    expect(code).toBe(0);
    expect(made.asked.map(({ verb }) => verb)).toEqual(['failover', 'describe', 'report']);
    expect(out).toMatch(/orders +0 +STOPPED +89 +90 +100 +4\.2 s before +10 +-7 +80\.\.89/);
    expect(out).toMatch(/orders-0 80\.\.89: the source did not answer/);
  });

  test('-o json carries verb answer, rows and report', async () => {
    const made = await gateway(answering);
    const { code, out } = await run([
      'mirror',
      'failover',
      'east-to-west',
      '--all',
      '--yes',
      '-o',
      'json',
      ...at(made),
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      ok: true,
      topics: [{ topic: 'orders' }],
      describe: [{ state: 'STOPPED' }],
      report: [loss],
    });
  });

  test.each([
    ['failover', '--all', '--yes'],
    ['create', '--source', 'east'],
  ])('%s in a format that there is not: nothing is asked of the gateway', async (verb, ...flags) => {
    const made = await gateway(answering);
    const { code, err } = await run(['mirror', verb, 'm', ...flags, '-o', 'xml', ...at(made)]);
    expect({ code, err, asked: made.asked.length }).toEqual({
      code: 2,
      err: '-o is table, json or yaml, not xml\n',
      asked: 0,
    });
  });

  test('a plan without steps says that there is nothing to do', async () => {
    const made = await gateway(() => ({ ok: true, topics: [], plan: { steps: [], notes: [] } }));
    const { out } = await run(['mirror', 'failover', 'm', '--all', '--dry-run', ...at(made)]);
    expect(out).toBe('dry run, nothing was changed\n  nothing to do\n');
  });

  test('what the plan notes is told after the wait too', async () => {
    const note = 'whether east mirrors these topics from here is not known';
    const made = await gateway(({ verb }) => ({
      ok: true,
      ...(verb === 'start' ? { topics: [{ topic: 'orders' }], plan: { steps: [], notes: [note] } } : {}),
      describe: [row(0, 'MIRRORING')],
    }));
    const { code, out } = await run(['mirror', 'start', 'm', '--all', ...at(made)]);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^MIRROR[^]*note: ${note}\n$`));
  });

  test('on a terminal the plan is shown and asked about; no is no', async () => {
    const made = await gateway(answering);
    const { code, err } = await run(['mirror', 'failover', 'east-to-west', '--all', ...at(made)], {
      terminal: true,
      replies: ['n'],
    });
    expect(code).toBe(1);
    expect(err).toMatch(/stop topic: topic orders/);
    expect(err).toMatch(/failover was not done/);
    expect(made.asked.map(({ verb, dryRun }) => [verb, dryRun])).toEqual([['failover', true]]);
  });

  test('on a terminal yes goes on', async () => {
    const made = await gateway(answering);
    const { code } = await run(['mirror', 'failover', 'east-to-west', '--all', ...at(made)], {
      terminal: true,
      replies: ['y'],
    });
    expect(code).toBe(0);
    expect(made.asked.map(({ verb, dryRun }) => [verb, dryRun])).toEqual([
      ['failover', true],
      ['failover', false],
      ['describe', false],
      ['report', false],
    ]);
  });

  test('--accept-damage is passed on', async () => {
    const made = await gateway(answering);
    await run(['mirror', 'failover', 'm', '--all', '--yes', '--accept-damage', '--no-wait', ...at(made)]);
    expect(made.asked[0]).toMatchObject({ options: { acceptDamage: true } });
  });
});

describe('reading verbs', () => {
  test("describe -o json is KIP-1279's array with our fields behind", async () => {
    const made = await gateway(() => ({ ok: true, describe: [row(0, 'MIRRORING', { held: 3 })] }));
    const { code, out } = await run(['mirror', 'describe', '-o', 'json', ...at(made)]);
    expect(code).toBe(0);
    const rows = JSON.parse(out) as object[];
    expect(Object.keys(rows[0] as object)).toEqual([
      'mirror',
      'topic',
      'partition',
      'sourceOffset',
      'destinationOffset',
      'lag',
      'state',
      'retryAttempt',
      'errorMessage',
      'held',
    ]);
  });

  test('describe prints a dash for what is not known', async () => {
    const made = await gateway(() => ({
      ok: true,
      describe: [row(0, 'FAILED', { sourceOffset: -1, lag: -1, errorMessage: 'line\nbreak' })],
    }));
    const { out } = await run(['mirror', 'describe', 'east-to-west', '--failed', ...at(made)]);
    expect(out).toMatch(/east-to-west +orders +0 +- +90 +- +- +FAILED +line break/);
  });

  test('describe -o yaml', async () => {
    const made = await gateway(() => ({ ok: true, describe: [row(0, 'MIRRORING')] }));
    const { out } = await run(['mirror', 'describe', '-o', 'yaml', ...at(made)]);
    expect(out).toMatch(/^- mirror: east-to-west\n {2}topic: orders\n/);
  });

  test('an unknown mirror is refused', async () => {
    const made = await gateway(() => ({
      ok: false,
      error: { code: 137, name: 'UNKNOWN_CLUSTER_MIRROR', message: 'there is no mirror named "x"' },
    }));
    const { code, err } = await run(['mirror', 'describe', 'x', ...at(made)]);
    expect(err).toBe('describe was refused: there is no mirror named "x" (UNKNOWN_CLUSTER_MIRROR)\n');
    expect(code).toBe(1);
  });

  test('list', async () => {
    const made = await gateway(() => ({
      ok: true,
      list: [
        {
          mirror: 'm',
          source: 'east',
          topics: ['a', 'b'],
          activeTopics: ['a'],
          include: ['a', '/b.*/'],
          exclude: ['b-test'],
          sourceClusterId: 'id',
          sourceBootstrap: 'e:1',
        },
      ],
    }));
    const { out } = await run(['mirror', 'list', ...at(made)]);
    expect(out).toMatch(/^MIRROR .*\nm +east +2 +1 +a, \/b\.\*\/ without b-test +id +e:1\n$/);
  });

  test('--failed with none that failed', async () => {
    const made = await gateway(() => ({ ok: true, describe: [row(0, 'MIRRORING')] }));
    expect((await run(['mirror', 'describe', '--failed', ...at(made)])).out).toBe('no failed partitions\n');
  });

  test('report', async () => {
    const made = await gateway(() => ({ ok: true, report: [] }));
    expect((await run(['mirror', 'report', 'm', ...at(made)])).out).toBe('no report yet\n');
  });

  test('status takes two looks and shows rates', async () => {
    let end = 100;
    const made = await gateway(({ verb }) => {
      if (verb === 'status') return { ok: true, status: { instance: 'i-1' } };
      end += 1000;
      return { ok: true, describe: [row(0, 'MIRRORING', { destinationOffset: end, lag: 500 })] };
    });
    const { code, out } = await run(['status', ...at(made)]);
    expect(code).toBe(0);
    expect(out).toMatch(/east-to-west +1 +1 MIRRORING +500 +0 +\d+ /);
    expect(out).toMatch(/instance: i-1/);
  });

  test.each([
    [
      { freshness: 'fresh', fenced: false },
      'its state is up to date; run by process 3 since its state began',
    ],
    [
      { freshness: 'stale', fenced: false },
      'its state is not up to date, writers to mirrored topics are told',
    ],
    [{ freshness: 'loading', fenced: false }, 'its state was not read yet, clients wait'],
    [
      { freshness: 'stale', fenced: false, stateOutages: ['partition 2 of the state topic is out of reach'] },
      'its state is out of reach in part, writers to the mirrored topics concerned are told to try again; run by process 3 since its state began\npartition 2 of the state topic is out of reach',
    ],
    [{ freshness: 'fresh', fenced: true }, 'another process took it over'],
  ])('a destination in words: %o', (more, words) => {
    const told = destinationText({ destination: 'west', incarnation: 3, ...more });
    expect(told).toMatch(new RegExp(`^destination west: ${words}`));
    expect(told).not.toMatch(/freshness|incarnation|fenced/);
  });

  test('status tells mirrors without partitions, why, and the drift', async () => {
    const mirrors = [
      { mirror: 'new', error: 'not created yet', drift: ['copier: file link, state external'] },
    ];
    const status = { destination: 'west', incarnation: 3, freshness: 'fresh', fenced: false, mirrors };
    const made = await gateway(({ verb }) =>
      verb === 'status' ? { ok: true, status } : { ok: true, describe: [] },
    );
    const { out } = await run(['status', ...at(made)]);
    expect(out).toMatch(
      /^new +0 +0 +0 .*\nnew: not created yet\n\ndestination west: its state is up to date/m,
    );
    expect(out).toMatch(/^new differs from the file: copier: file link, state external$/m);
    const json = await run(['status', '-o', 'json', ...at(made)]);
    expect(JSON.parse(json.out)).toMatchObject({ destination: 'west', incarnation: 3, mirrors });
  });
});

test('a broker instead of a gateway is told apart', async () => {
  const broker = await brokerStub();
  cleanups.push(() => broker.close());
  const { code, err } = await run(['mirror', 'list', '--bootstrap-server', `127.0.0.1:${broker.port}`]);
  expect(err).toMatch(/is no Isthmus gateway .*verbs go to the address under gateways: bind/);
  expect(code).toBe(1);
});

test('--command-config: TLS and SASL are refused with file and line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'isthmus-cli-'));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'client.properties');
  writeFileSync(file, '# comment\nclient.id=me\nsecurity.protocol = SASL_SSL\n');
  const { code, err } = await run([
    'mirror',
    'list',
    '--bootstrap-server',
    '127.0.0.1:1',
    '--command-config',
    file,
  ]);
  expect(err).toContain(`${file}:3 security.protocol SASL_SSL: TLS and SASL come later`);
  expect(code).toBe(1);
});
