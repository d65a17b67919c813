import { expect, test } from 'vitest';
import { formatFault, loadText } from '../../src/config/index.ts';

// Own fault: an entry with a key missing or of a wrong kind was not judged further, so that the next faults came to
// light one run after the other; and what named it was told that it did not exist.
function told(text: string): string[] {
  const result = loadText('f.yaml', text, {});
  return result.ok ? [] : result.faults.map(formatFault);
}

test('whoever names a cluster, a mirror or a gateway with faults is not told that there is none', () => {
  expect(
    told(`clusters:
  a: 3
  b: { bootstrap.servers: [] }
gateways:
  - { name: g, cluster: a, role: mirror, mirror: m, bind: "127.0.0.1:1", nodeIds: 1, brokerPorts: 2 }
mirrors:
  - { name: 5, source: b, destination: a, copier: external, topics: { include: [x] } }
`),
  ).toEqual([
    'f.yaml:2:6 clusters.a: must be a map of Kafka client properties, at least bootstrap.servers',
    'f.yaml:3:27 clusters.b.bootstrap.servers: must be a text, a number, or true or false',
    'f.yaml:7:13 mirrors.0.name: must be a text, found 5; write it in quotes: "5"',
  ]);
});

test('without clusters nobody is told that the named one is not there', () => {
  const rest = `gateways:
  - { name: g, cluster: a, bind: "127.0.0.1", nodeIds: 1, brokerPorts: 2 }
mirrors:
  - { name: m, source: b, destination: b, topics: { include: ["*"] } }
`;
  const others = [/"127.0.0.1" has no port/, /source and destination are both b/, /is not a topic name/];
  for (const [clusters, message] of [
    ['', /a map of clusters is missing/],
    ['clusters:\n', /clusters: must be a map/],
    ['clusters: [a, b]\n', /clusters: must be a map/],
  ] as const) {
    const found = told(`${clusters}${rest}`);
    expect(found).toHaveLength(4);
    for (const pattern of [message, ...others]) expect(found.join('\n')).toMatch(pattern);
  }
});

test('a misspelt key is told once, and what stands behind it is judged', () => {
  expect(
    told(`cluster:
  a: { bootstrap.server: "a:1" }
gateway:
  - { nam: g, clster: wat, bnd: 127.0.0.1, nodeIds: 1-3, brokrPorts: 2-3 }
`).map((fault) => fault.replace(/^f\.yaml:\d+:\d+ /, '')),
  ).toEqual([
    'cluster: this key is not known here; did you mean clusters?',
    'clusters.a.bootstrap.server: bootstrap.server is not a client property that Isthmus knows; did you mean bootstrap.servers?',
    'gateway: this key is not known here; did you mean gateways?',
    'gateways.0.nam: this key is not known here; did you mean name?',
    'gateways.0.clster: this key is not known here; did you mean cluster?',
    'gateways.0.cluster: no cluster is named wat; known are a',
    'gateways.0.bnd: this key is not known here; did you mean bind?',
    'gateways.0.bind: "127.0.0.1" has no port; write 127.0.0.1:9092',
    'gateways.0.brokrPorts: this key is not known here; did you mean brokerPorts?',
    'gateways.0.brokerPorts: 2 ports for 3 node ids; they are matched in order, so the counts must agree',
  ]);
});

test('a mirror whose excludes have a fault is not told what it may have excluded', () => {
  const text = (exclude: string): string => `clusters:
  a: { bootstrap.servers: "a:1" }
  b: { bootstrap.servers: "b:1" }
  c: { bootstrap.servers: "c:1" }
mirrors:
  - { name: m, source: a, destination: c, topics: { include: [x, y] } }
  - { name: n, source: b, destination: c, topics: { include: [x], exclude: [${exclude}] } }
`;
  expect(told(text("'/[/'"))).toEqual([expect.stringMatching(/is not a regular expression/)]);
  expect(told(text('y'))).toEqual([expect.stringMatching(/topic x on c already belongs to mirror m/)]);
  expect(told(text('__internal, x'))).toEqual([]);
});

test('ports that two want: every port is named, and gateways whose bind has a fault count where it is sure', () => {
  expect(
    told(`clusters: { a: { bootstrap.servers: "a:1" } }
gateways:
  - { name: one, cluster: a, bind: "0.0.0.0:100", advertise: h, nodeIds: 1-3, brokerPorts: 101-103 }
  - { name: two, cluster: a, bind: [], nodeIds: 1-4, brokerPorts: "102, 103, 105, 100" }
  - { name: three, cluster: a, bind: "127.0.0.1:105", nodeIds: 1, brokerPorts: 106 }
admin: { bind: "127.0.0.1:106" }
`),
  ).toEqual([
    'f.yaml:4:36 gateways.1.bind: must be host:port, found a list',
    'f.yaml:4:67 gateways.1.brokerPorts: ports 102-103 are taken by brokerPorts of gateway one (line 3); choose another',
    'f.yaml:4:67 gateways.1.brokerPorts: port 100 is taken by bind of gateway one (line 3); choose another',
    'f.yaml:6:16 admin.bind: port 106 is taken by brokerPorts of gateway three (line 5); choose another',
  ]);
});

test('a destination under two names is refused: its state would be taken over from ourselves', () => {
  const text = `clusters:
  a: { bootstrap.servers: "a:1" }
  b: { bootstrap.servers: "h1:1,H2:1" }
  c: { bootstrap.servers: "h2:1" }
gateways:
  - { name: g, cluster: c, bind: "127.0.0.1:1", nodeIds: 1, brokerPorts: 2 }
mirrors:
  - { name: m, source: a, destination: b, topics: { include: [x] } }
`;
  expect(told(text)).toEqual([
    'f.yaml:4:27 clusters.c.bootstrap.servers: h2:1 is an address of cluster b too; give gateways and mirrors of one cluster one name',
  ]);
  expect(told(text.replace('cluster: c', 'cluster: b'))).toEqual([]);
});

test('a mirror of one cluster under two names, in whatever letters the host is written', () => {
  const of = (source: string, destination: string): string[] =>
    told(`clusters: { a: { bootstrap.servers: "${source}" }, b: { bootstrap.servers: "${destination}" } }
mirrors: [{ name: m, source: a, destination: b, topics: { include: [x] } }]
`);
  expect(of('East:1', 'x:1,east:1')).toEqual([expect.stringMatching(/a and b share the address east:1/)]);
  expect(of('East:1', 'east:2')).toEqual([]);
});

test("the state topic is none of Kafka's own", () => {
  const found = told('clusters: { a: { bootstrap.servers: "a:1" } }\nstate: { topic: __consumer_offsets }\n');
  expect(found).toEqual([
    expect.stringMatching(/state\.topic: __consumer_offsets is a topic of Kafka's own/),
  ]);
});

test('a shape fault of one section hides no rule of another part', () => {
  expect(
    told(`clusters: { a: { bootstrap.servers: "a:1" } }
mirrors: [{ name: m, source: a, destination: wat, topics: { include: [x] } }]
state: { partitions: x, topic: open }
link: { fetchers: x, maxBytesPerSecond: 1 }
append: { ioThreads: x, moveLeadership: true }
admin: { bind: 0.0.0.0:1, token: 3 }
`).map((fault) => fault.split(' ').slice(0, 2).join(' ')),
  ).toEqual([
    'f.yaml:2:46 mirrors.0.destination:',
    'f.yaml:3:22 state.partitions:',
    'f.yaml:3:32 state.topic:',
    'f.yaml:4:19 link.fetchers:',
    'f.yaml:4:22 link.maxBytesPerSecond:',
    'f.yaml:5:22 append.ioThreads:',
    'f.yaml:5:41 append.moveLeadership:',
    'f.yaml:6:34 admin.token:',
  ]);
});

test.each([
  ['127.0.0.1:100', '"127.0.0.1:100"', ''],
  ['localhost:101', '"127.0.0.1:100"', ''],
  ['[::1]:100', '"0.0.0.0:100"', 'advertise: h, '],
  ['H:101', '"0.0.0.0:100"', 'advertise: h, '],
])('a gateway that leads to itself: %s behind %s', (servers, bind, advertise) => {
  const text = (address: string): string => `clusters: { a: { bootstrap.servers: "x:1,${address}" } }
gateways: [{ name: g, cluster: a, bind: ${bind}, ${advertise}nodeIds: 1, brokerPorts: 101 }]
`;
  expect(told(text(servers))).toEqual([
    expect.stringMatching(
      /^f\.yaml:1:37 clusters\.a\.bootstrap\.servers: \S+ is (bind|brokerPorts) of gateway g, which would lead to itself/,
    ),
  ]);
  expect(told(text('other:100'))).toEqual([]);
  expect(told(text(servers.replace(/\d+$/, '102')))).toEqual([]);
});

test('a cluster that is not there is told once, without the warning that no gateway leads to it', () => {
  const result = loadText(
    'f.yaml',
    `clusters: { a: { bootstrap.servers: "a:1" } }
mirrors: [{ name: m, source: a, destination: b, topics: { include: [x] } }]
`,
    {},
  );
  expect(result.warnings).toEqual([]);
  expect(result.ok ? 0 : result.faults.length).toBe(1);
});
