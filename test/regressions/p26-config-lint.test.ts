import { describe, expect, test } from 'vitest';
import { formatFault, loadText } from '../../src/config/index.ts';

/**
 * P26 (Kroxylicious 3535): a blank after a comma in a bootstrap list became part of the host. Each such text is either
 * accepted or refused with file, place and reason, before anything is bound.
 */
function servers(text: string): string[] {
  const result = loadText('p26.yaml', `clusters: { a: { bootstrap.servers: ${JSON.stringify(text)} } }\n`);
  if (!result.ok) return result.faults.map(formatFault);
  return (result.config.clusters.get('a')?.bootstrap ?? []).map(({ host, port }) => `${host} ${port}`);
}

describe('bootstrap lists', () => {
  test.each([
    ['a:1, b:2', ['a 1', 'b 2']],
    ['  a:1\t,\n b:2 ', ['a 1', 'b 2']],
    ['a:1,,b:2,', ['a 1', 'b 2']],
    ['a:1,a:1', ['a 1']],
    ['[::1]:9092, [2001:db8::1]:1', ['::1 9092', '2001:db8::1 1']],
    ['a: 1', ['a 1']],
  ])('%j is accepted', (text, expected) => {
    expect(servers(text)).toEqual(expected);
  });

  test.each([
    ['', /no address/],
    [' , ', /no address/],
    ['a', /"a" has no port; write a:9092/],
    ['a:1,b', /"b" has no port/],
    ['a:0', /from 1 to 65535/],
    ['a:65536', /from 1 to 65535/],
    ['a:9o92', /from 1 to 65535/],
    [':9092', /has no host/],
    ['::1:9092', /in brackets/],
    ['[::1]', /has no port; write \[::1\]:9092/],
    ['[::1', /does not close it/],
    ['a b:1', /"a b" is not a host name/],
    ['http://a:1', /scheme name in front/],
  ])('%j is refused with its place', (text, reason) => {
    const [fault, ...more] = servers(text);
    expect(more).toEqual([]);
    expect(fault).toMatch(/^p26\.yaml:1:37 clusters\.a\.bootstrap\.servers: /);
    expect(fault).toMatch(reason);
  });
});

test('duplicate ids, overlapping port ranges, unknown keys and a missing port in one file', () => {
  const text = `clusters: { a: { bootstrap.servers: "h:1" } }
gateways:
  - { name: one, cluster: a, bind: "127.0.0.1:100", nodeIds: "1,1", brokerPorts: 101-102 }
  - { name: two, cluster: a, bind: "127.0.0.1", nodeIds: 1-2, brokerPorts: 102-103, color: red }
  - { name: three, cluster: a, bind: "127.0.0.1:101", nodeIds: 1-2, brokerPorts: 103-104 }
`;
  const result = loadText('p26.yaml', text);
  expect(result.ok ? [] : result.faults.map(formatFault)).toEqual([
    'p26.yaml:3:62 gateways.0.nodeIds: 1 is given twice; name each number once',
    'p26.yaml:4:36 gateways.1.bind: "127.0.0.1" has no port; write 127.0.0.1:9092',
    'p26.yaml:4:76 gateways.1.brokerPorts: port 102 is taken by brokerPorts of gateway one (line 3); choose another',
    'p26.yaml:4:85 gateways.1.color: this key is not known here; known are name, cluster, role, mirror, bind, advertise, nodeIds, brokerPorts, readOnlyError, limits, tls, sasl, virtual',
    'p26.yaml:5:38 gateways.2.bind: port 101 is taken by brokerPorts of gateway one (line 3); choose another',
    'p26.yaml:5:82 gateways.2.brokerPorts: port 103 is taken by brokerPorts of gateway two (line 4); choose another',
  ]);
});
