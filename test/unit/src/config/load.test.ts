import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  type Config,
  formatFault,
  jsonSchema,
  load,
  loadText,
  type Secret,
} from '../../../../src/config/index.ts';

const GOOD = `clusters:
  east: { bootstrap.servers: "east-1:9092, east-2:9092" }
  west: { bootstrap.servers: "west-1:9092", socket.connection.setup.timeout.ms: 5000 }
gateways:
  - name: west
    cluster: west
    role: client
    bind: 0.0.0.0:9192
    advertise: gw.example.com
    nodeIds: 1-20
    brokerPorts: 9193-9212
mirrors:
  - name: east-to-west
    source: east
    destination: west
    topics: { include: [orders, /payments-.*/], exclude: [] }
admin: { bind: 127.0.0.1:9190 }
state: { topic: __mirror_state, partitions: 50, replication.factor: 3 }
`;

function good(text: string, env: NodeJS.ProcessEnv = {}): Config {
  const result = loadText('isthmus.yaml', text, env);
  if (!result.ok) throw new Error(result.faults.map(formatFault).join('\n'));
  return result.config;
}

function faults(text: string, env: NodeJS.ProcessEnv = {}): string[] {
  const result = loadText('f.yaml', text, env);
  return result.ok ? [] : result.faults.map(formatFault);
}

/** The good file with one text in it replaced. */
function changed(from: string, to: string): string {
  if (!GOOD.includes(from)) throw new Error(`the file has no ${from}`);
  return GOOD.replace(from, to);
}

describe('a good file', () => {
  test('is read with its defaults', () => {
    const config = good(GOOD);
    expect(config.clusters.get('east')?.bootstrap).toEqual([
      { host: 'east-1', port: 9092 },
      { host: 'east-2', port: 9092 },
    ]);
    expect(config.clusters.get('west')?.properties['socket.connection.setup.timeout.ms']).toBe('5000');
    expect(config.gateways[0]).toMatchObject({
      name: 'west',
      role: 'client',
      bind: { host: '0.0.0.0', port: 9192 },
      advertise: 'gw.example.com',
      readOnlyError: 'policy-violation',
    });
    expect(config.gateways[0]?.brokerPorts.get(20)).toBe(9212);
    expect(config.mirrors[0]).toMatchObject({
      copier: 'link',
      topics: { include: ['orders', '/payments-.*/'] },
      replicationFactor: null,
      link: { fetchers: 1 },
    });
    expect(config.state).toEqual({ topic: '__mirror_state', partitions: 50, replicationFactor: 3 });
    expect(config.admin).toMatchObject({ bind: { host: '127.0.0.1', port: 9190 }, token: null });
  });

  test('a gateway alone is enough', () => {
    const config = good(`clusters: { a: { bootstrap.servers: "[::1]:9092" } }
gateways:
  - { name: g, cluster: a, bind: "[::1]:1000", nodeIds: 1, brokerPorts: 1001 }
`);
    expect(config.gateways[0]?.advertise).toBe('::1');
    expect(config.admin).toBeNull();
  });

  test('link settings of the file are defaults for each mirror', () => {
    const config = good(
      `${GOOD.replace('exclude: [] }', 'exclude: [], replication.factor: 2 }\n    link: { fetchers: 3 }\n    append: { moveLeadership: false }')}link: { fetchers: 2, fetchMaxWaitMs: 100 }\n`,
    );
    expect(config.mirrors[0]?.link).toMatchObject({ fetchers: 3, fetchMaxWaitMs: 100 });
    expect(config.mirrors[0]?.replicationFactor).toBe(2);
  });

  test('blanks around commas, a trailing comma and doubled addresses are accepted (P26)', () => {
    const config = good('clusters: { a: { bootstrap.servers: " h1:1 ,  h2:2,h1:1, [2001:db8::1]:3 ," } }');
    expect(config.clusters.get('a')?.bootstrap.map(({ host }) => host)).toEqual(['h1', 'h2', '2001:db8::1']);
  });

  test('groups are kept with a warning that they come later', () => {
    const result = loadText(
      'f.yaml',
      `${GOOD.replace('exclude: [] }', 'exclude: [] }\n    groups: { include: [/.*/] }')}`,
    );
    expect(result.ok).toBe(true);
    expect(result.warnings.map(formatFault)).toEqual([
      'f.yaml:17:5 mirrors.0.groups: group offsets are not synced yet (that comes later); the entry is kept for then',
    ]);
  });

  test('a pattern as of file names is read with a warning', () => {
    const result = loadText('f.yaml', changed('/payments-.*/', '/payments-*/'));
    expect(result.ok).toBe(true);
    expect(result.warnings.map(formatFault)).toEqual([
      'f.yaml:16:33 mirrors.0.topics.include.1: in a regular expression * repeats the letter before it; .* is any text',
    ]);
  });

  test('an external copier needs a mirror-role gateway that names it', () => {
    const text = changed('topics: {', 'copier: external\n    topics: {').replace(
      'role: client',
      'role: mirror\n    mirror: east-to-west',
    );
    expect(good(text).gateways[0]).toMatchObject({ role: 'mirror', mirror: 'east-to-west' });
  });
});

describe('faults name line, column, path and the way out', () => {
  test.each<[string, string, string]>([
    [
      'unknown key at the top',
      `${GOOD}gateway: []\n`,
      'f.yaml:19:1 gateway: this key is not known here; did you mean gateways?',
    ],
    [
      'unknown key inside',
      changed('role: client', 'rolle: client'),
      'f.yaml:7:5 gateways.0.rolle: this key is not known here; did you mean role?',
    ],
    ['no clusters', 'gateways: []\n', 'f.yaml:1:1 clusters: a map of clusters is missing'],
    [
      'cluster without servers',
      changed('bootstrap.servers: "west-1:9092", ', ''),
      'f.yaml:3:9 clusters.west.bootstrap.servers: bootstrap.servers is missing; write host:port',
    ],
    [
      'missing port',
      changed('"west-1:9092"', 'west-1'),
      'f.yaml:3:30 clusters.west.bootstrap.servers: "west-1" has no port; write west-1:9092',
    ],
    [
      'port out of range',
      changed('"west-1:9092"', '"west-1:99999"'),
      'f.yaml:3:30 clusters.west.bootstrap.servers: "west-1:99999": the port must be a number from 1 to 65535',
    ],
    [
      'IPv6 without brackets',
      changed('"west-1:9092"', '"::1:9092"'),
      'f.yaml:3:30 clusters.west.bootstrap.servers: "::1:9092": an IPv6 address stands in brackets: [address]:port',
    ],
    [
      'listener name in front',
      changed('"west-1:9092"', '"PLAINTEXT://w:9092"'),
      'f.yaml:3:30 clusters.west.bootstrap.servers: "PLAINTEXT://w:9092" has a listener or scheme name in front; write only host:port',
    ],
    [
      'blank inside a host',
      changed('"west-1:9092"', '"a b:9092"'),
      'f.yaml:3:30 clusters.west.bootstrap.servers: "a b" is not a host name or address',
    ],
    [
      'TLS at a cluster',
      changed('socket.connection.setup.timeout.ms: 5000', 'security.protocol: SSL'),
      'f.yaml:3:45 clusters.west.security.protocol: security.protocol SSL: TLS and SASL come later; use a plain-text listener (security.protocol PLAINTEXT)',
    ],
    [
      'SASL at a cluster',
      changed('socket.connection.setup.timeout.ms: 5000', 'sasl.jaas.config: "x y z"'),
      'f.yaml:3:45 clusters.west.sasl.jaas.config: sasl.jaas.config: TLS and SASL come later; use a plain-text listener (security.protocol PLAINTEXT)',
    ],
    [
      'unknown client property',
      changed('socket.connection.setup.timeout.ms: 5000', 'bootstrap.server: x'),
      'f.yaml:3:45 clusters.west.bootstrap.server: bootstrap.server is not a client property that Isthmus knows; remove it',
    ],
    [
      'a time-out that is none',
      changed('timeout.ms: 5000', 'timeout.ms: soon'),
      'f.yaml:3:81 clusters.west.socket.connection.setup.timeout.ms: must be a whole number of milliseconds above 0',
    ],
    [
      'a gateway to nowhere',
      changed('cluster: west', 'cluster: wset'),
      'f.yaml:6:14 gateways.0.cluster: no cluster is named wset; known are east, west',
    ],
    [
      'a wildcard without advertise',
      changed('    advertise: gw.example.com\n', ''),
      'f.yaml:8:11 gateways.0.bind: 0.0.0.0 is every interface and no address that clients can use; add advertise: HOST',
    ],
    [
      'a wildcard advertised',
      changed('gw.example.com', '0.0.0.0'),
      'f.yaml:9:16 gateways.0.advertise: 0.0.0.0 is every interface and no address that clients can use; name a host',
    ],
    [
      'an advertised port',
      changed('gw.example.com', 'gw:9192'),
      'f.yaml:9:16 gateways.0.advertise: "gw:9192" has a port; advertise is a host only, the ports are those of bind and brokerPorts',
    ],
    [
      'counts that differ',
      changed('9193-9212', '9193-9211'),
      'f.yaml:11:18 gateways.0.brokerPorts: 19 ports for 20 node ids; they are matched in order, so the counts must agree',
    ],
    [
      'a range that runs backwards',
      changed('1-20', '20-1'),
      'f.yaml:10:14 gateways.0.nodeIds: the range 20-1 runs backwards; write 1-20',
    ],
    [
      'a node id twice',
      changed('1-20', '1-10,10-19'),
      'f.yaml:10:14 gateways.0.nodeIds: 10 is given twice; name each number once',
    ],
    [
      'a range of rubbish',
      changed('1-20', 'all'),
      'f.yaml:10:14 gateways.0.nodeIds: "all" is not a number or a range; write for example 1-3 or 1,2,5',
    ],
    [
      'a huge range',
      changed('1-20', '1-2000000000'),
      'f.yaml:10:14 gateways.0.nodeIds: more than 10,000 numbers',
    ],
    [
      'bind inside the broker ports',
      changed('0.0.0.0:9192', '0.0.0.0:9200'),
      'f.yaml:11:18 gateways.0.brokerPorts: port 9200 is taken by bind of gateway west (line 8); choose another',
    ],
    [
      'admin on a broker port',
      changed('127.0.0.1:9190', '127.0.0.1:9193'),
      'f.yaml:17:16 admin.bind: port 9193 is taken by brokerPorts of gateway west (line 11); choose another',
    ],
    [
      'admin in the open',
      changed('127.0.0.1:9190', '0.0.0.0:9190'),
      'f.yaml:17:16 admin.bind: 0.0.0.0 is not loopback; add token: ${file:PATH}, or bind 127.0.0.1:9190',
    ],
    [
      'an inline token',
      changed('127.0.0.1:9190 }', '127.0.0.1:9190, token: hunter2hunter2hunter2 }'),
      'f.yaml:17:39 admin.token: a secret stands in a file or in the environment: ${file:PATH} or ${env:NAME}',
    ],
    [
      'a role that is none',
      changed('role: client', 'role: broker'),
      'f.yaml:7:11 gateways.0.role: must be one of client, mirror, found "broker"',
    ],
    [
      'a mirror role without mirror',
      changed('role: client', 'role: mirror'),
      'f.yaml:7:11 gateways.0.role: role: mirror also needs mirror: NAME',
    ],
    [
      'a client role with mirror',
      changed('role: client', 'mirror: east-to-west'),
      'f.yaml:7:13 gateways.0.mirror: only a gateway with role: mirror names a mirror',
    ],
    [
      'a mirror role for a linked mirror',
      changed('role: client', 'role: mirror\n    mirror: east-to-west'),
      'f.yaml:8:13 gateways.0.mirror: mirror east-to-west is copied by its own link; set copier: external there to copy through this gateway',
    ],
    [
      'TLS at a gateway',
      changed('role: client', 'tls: { cert: x }'),
      'f.yaml:7:5 gateways.0.tls: TLS comes later; remove the key',
    ],
    [
      'source is destination',
      changed('source: east', 'source: west'),
      'f.yaml:15:18 mirrors.0.destination: source and destination are both west; a mirror needs two clusters',
    ],
    [
      'one address in both clusters',
      changed('"west-1:9092"', '"east-2:9092"'),
      'f.yaml:15:18 mirrors.0.destination: clusters east and west share the address east-2:9092; a mirror needs two clusters',
    ],
    [
      'an unknown source',
      changed('source: east', 'source: north'),
      'f.yaml:14:13 mirrors.0.source: no cluster is named north; known are east, west',
    ],
    [
      'a null source',
      changed('source: east', 'source:'),
      'f.yaml:14:12 mirrors.0.source: must be a text, found nothing',
    ],
    ['no source', changed('    source: east\n', ''), 'f.yaml:13:5 mirrors.0.source: a text is missing'],
    [
      'a bad expression',
      changed('/payments-.*/', '/pay(ments/'),
      'f.yaml:16:33 mirrors.0.topics.include.1: /pay(ments/ is not a regular expression: Unterminated group',
    ],
    [
      'a pattern without slashes',
      changed('/payments-.*/', 'payments-.*'),
      'f.yaml:16:33 mirrors.0.topics.include.1: "payments-.*" is not a topic name; a regular expression is written between slashes: /payments-.*/',
    ],
    [
      'a file name pattern',
      changed('/payments-.*/', '"payments-*"'),
      'f.yaml:16:33 mirrors.0.topics.include.1: "payments-*" is not a topic name; a regular expression is written between slashes: /payments-.*/',
    ],
    [
      'a list of topics for the map of lists',
      changed('{ include: [orders, /payments-.*/], exclude: [] }', '[orders]'),
      'f.yaml:16:13 mirrors.0.topics: must be a map of keys and values, found a list; write its keys (include)',
    ],
    [
      'a unit',
      `${GOOD}append: { silenceMs: 60s }\n`,
      'f.yaml:19:22 append.silenceMs: must be a whole number, found "60s"; write the number of milliseconds alone',
    ],
    [
      'an internal topic',
      changed('/payments-.*/', '__consumer_offsets'),
      'f.yaml:16:33 mirrors.0.topics.include.1: "__consumer_offsets" is an internal topic; names that begin with "__" are never mirrored',
    ],
    [
      'a name that is too long',
      changed('/payments-.*/', 'x'.repeat(250)),
      `f.yaml:16:33 mirrors.0.topics.include.1: "${'x'.repeat(250)}" is not a topic name: 1 to 249 letters, digits, ".", "_" and "-"`,
    ],
    [
      'a text for a list',
      changed('[orders, /payments-.*/]', 'orders'),
      'f.yaml:16:24 mirrors.0.topics.include: must be a list, found "orders"',
    ],
    [
      'a rate',
      changed('topics: {', 'link: { maxBytesPerSecond: 1 }\n    topics: {'),
      'f.yaml:16:13 mirrors.0.link.maxBytesPerSecond: a bound on the rate comes later; remove the key',
    ],
    [
      'moved leaderships',
      changed('topics: {', 'append: { moveLeadership: true }\n    topics: {'),
      'f.yaml:16:31 mirrors.0.append.moveLeadership: moving leaderships comes later; leave it out or say false (probes are used)',
    ],
    [
      'gaps',
      `${GOOD}gaps: { maxMarkers: 1 }\n`,
      'f.yaml:19:1 gaps: mirroring over offset gaps comes later; remove the key',
    ],
    [
      'an open state topic',
      changed('topic: __mirror_state', 'topic: states'),
      'f.yaml:18:17 state.topic: the state topic is internal: its name begins with "__" and has letters, digits, ".", "_" and "-"',
    ],
    [
      'no state partition',
      changed('partitions: 50', 'partitions: 0'),
      'f.yaml:18:45 state.partitions: must be at least 1, found 0',
    ],
    [
      'half a partition',
      changed('partitions: 50', 'partitions: 1.5'),
      'f.yaml:18:45 state.partitions: must be a whole number, found 1.5',
    ],
    [
      'a missing variable',
      changed('"west-1:9092"', '"${env:WEST}"'),
      'f.yaml:3:30 clusters.west.bootstrap.servers: ${env:WEST}: the environment has no variable WEST',
    ],
    [
      'a missing file',
      changed('"west-1:9092"', '"${file:/nowhere/at/all}"'),
      'f.yaml:3:30 clusters.west.bootstrap.servers: ${file:/nowhere/at/all}: there is no such file',
    ],
    [
      'a reference of no kind',
      changed('"west-1:9092"', '"${vault:x}"'),
      'f.yaml:3:30 clusters.west.bootstrap.servers: ${vault:x} is no reference; write ${env:NAME} or ${file:PATH}',
    ],
    [
      'the same key twice',
      changed('    cluster: west\n', '    cluster: west\n    cluster: east\n'),
      'f.yaml:7:5 gateways.0.cluster: this key stands there twice; keep one',
    ],
    ['an empty file', '', 'f.yaml:1:1 the file is empty; it needs at least clusters:'],
    ['a list for a map', '- a\n', 'f.yaml:1:1 must be a map of keys and values, found a list'],
  ])('%s', (_title, text, expected) => {
    expect(faults(text)).toContain(expected);
  });

  test('syntax errors have their place too', () => {
    expect(faults('clusters: { a: [ }\n')[0]).toMatch(/^f\.yaml:1:\d+ /);
  });

  test('a second gateway on the same ports, and of the same name', () => {
    const second = GOOD.slice(GOOD.indexOf('  - name: west'), GOOD.indexOf('mirrors:'));
    const found = faults(GOOD.replace('mirrors:', `${second}mirrors:`));
    expect(found).toEqual([
      'f.yaml:12:11 gateways.1.name: a second gateway named west; names are unique',
      'f.yaml:15:11 gateways.1.bind: port 9192 is taken by bind of gateway west (line 8); choose another',
      'f.yaml:18:18 gateways.1.brokerPorts: ports 9193-9212 are taken by brokerPorts of gateway west (line 11); choose another',
    ]);
  });

  test.each([
    [
      'a literal twice',
      '[orders]',
      'topic orders on west already belongs to mirror east-to-west (orders); a topic has one mirror, so leave it out of one',
    ],
    [
      'a literal under a pattern',
      '[payments-eu]',
      'topic payments-eu on west already belongs to mirror east-to-west (/payments-.*/); a topic has one mirror, so leave it out of one',
    ],
    [
      'a pattern over a literal',
      '[/ord.*/]',
      'topics of /ord.*/ on west already belongs to mirror east-to-west (orders); a topic has one mirror, so leave it out of one',
    ],
    [
      'the same pattern',
      '[/payments-.*/]',
      'topics of /payments-.*/ on west already belongs to mirror east-to-west (/payments-.*/); a topic has one mirror, so leave it out of one',
    ],
  ])('a second mirror for a topic: %s', (_title, include, message) => {
    const second = `  - { name: second, source: north, destination: west, topics: { include: ${include} } }\n`;
    const text = GOOD.replace('admin:', `${second}admin:`).replace(
      'gateways:',
      '  north: { bootstrap.servers: "n:1" }\ngateways:',
    );
    expect(faults(text).map((fault) => fault.slice(fault.indexOf(': ') + 2))).toEqual([message]);
  });

  test('an exclude takes a topic out of the comparison', () => {
    const second =
      '  - { name: second, source: north, destination: west, topics: { include: [/ord.*/], exclude: [orders] } }\n';
    const text = GOOD.replace('admin:', `${second}admin:`).replace(
      'gateways:',
      '  north: { bootstrap.servers: "n:1" }\ngateways:',
    );
    expect(faults(text)).toEqual([]);
  });

  test('every fault is told at once, in the order of the file', () => {
    const text = GOOD.replace('"west-1:9092"', 'west-1')
      .replace('cluster: west', 'cluster: nowhere')
      .replace('1-20', 'all')
      .replace('source: east', 'source: north')
      .replace('/payments-.*/', '__x')
      .replace('partitions: 50', 'partitions: -1');
    expect(faults(`${text}extra: 1\n`).map((fault) => fault.split(' ')[0])).toEqual([
      'f.yaml:3:30',
      'f.yaml:6:14',
      'f.yaml:10:14',
      'f.yaml:14:13',
      'f.yaml:16:33',
      'f.yaml:18:45',
      'f.yaml:19:1',
    ]);
  });

  test('an unknown key hides no fault that stands beside it', () => {
    const text = GOOD.replace('cluster: west', 'cluster: nowhere\n    wat: 1')
      .replace('source: east', 'source: north')
      .replace('exclude: []', 'exclud: []');
    expect(faults(text)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('no cluster is named nowhere'),
        expect.stringContaining('wat: this key is not known here'),
        expect.stringContaining('no cluster is named north'),
        expect.stringContaining('did you mean exclude?'),
      ]),
    );
  });

  test('a file that is not there', () => {
    expect(load('/nowhere/isthmus.yaml')).toMatchObject({
      ok: false,
      faults: [{ line: 1, message: 'there is no such file' }],
    });
  });
});

describe('secrets', () => {
  test('are read from file and environment, and print as [redacted]', () => {
    const folder = mkdtempSync(join(tmpdir(), 'isthmus-config-'));
    try {
      writeFileSync(join(folder, 'token'), 'a-long-enough-token\n');
      writeFileSync(
        join(folder, 'isthmus.yaml'),
        changed('127.0.0.1:9190 }', '0.0.0.0:9190, token: "${file:token}" }').replace(
          '"west-1:9092"',
          '"${env:WEST}:9092"',
        ),
      );
      const result = load(join(folder, 'isthmus.yaml'), { WEST: 'west.example' });
      if (!result.ok) throw new Error(result.faults.map(formatFault).join('\n'));
      expect(result.config.clusters.get('west')?.bootstrap[0]?.host).toBe('west.example');
      const token = result.config.admin?.token as Secret;
      expect(token.reveal()).toBe('a-long-enough-token');
      expect(`${String(token)} ${JSON.stringify(result.config.admin)} ${inspect(token)}`).not.toContain(
        'long-enough',
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('a property that can not be used is refused before its secret is read', () => {
    const text = changed('socket.connection.setup.timeout.ms: 5000', 'sasl.jaas.config: "${env:NOT_THERE}"');
    expect(faults(text)).toHaveLength(1);
    expect(faults(text)[0]).toMatch(/TLS and SASL come later/);
  });
});

test('the JSON Schema names every key of the YAML', () => {
  const schema = jsonSchema() as { properties: Record<string, unknown>; additionalProperties: boolean };
  expect(Object.keys(schema.properties)).toEqual([
    'clusters',
    'gateways',
    'mirrors',
    'admin',
    'state',
    'link',
    'append',
    'gaps',
  ]);
  expect(schema.additionalProperties).toBe(false);
});
