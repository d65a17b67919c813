import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Config, formatFault, load, loadText } from '../../../../src/config/index.ts';

const CLUSTER = 'clusters: { a: { bootstrap.servers: "a:1" } }\n';

function faults(text: string): string[] {
  const result = loadText('f.yaml', text, {});
  return result.ok ? [] : result.faults.map(formatFault);
}

function good(text: string): Config {
  const result = loadText('f.yaml', text, {});
  if (!result.ok) throw new Error(result.faults.map(formatFault).join('\n'));
  return result.config;
}

describe('texts that are no YAML end there, with a fault for each line', () => {
  test.each<[string, string, string[]]>([
    ['a tab', 'a:\n\tb: 1\n', ['f.yaml:2:1 a tab indents this line; YAML wants blanks']],
    [
      'two values that begin wrongly',
      'a: @x\nb: `y\n',
      [
        'f.yaml:1:4 a value does not begin with @; put it in quotes',
        'f.yaml:2:4 a value does not begin with `; put it in quotes',
      ],
    ],
    [
      'an indentation and a quote',
      'a:\n  b: 1\n c: 3\nx: "open\ny: 1\n',
      [
        'f.yaml:3:1 this line is indented otherwise than the lines it belongs to',
        'f.yaml:4:4 this quote is not closed',
      ],
    ],
    [
      'a reference without quotes in braces',
      'a: {b: ${env:X}}\nc: {d: 1}\ne: [2]\n',
      ['f.yaml:1:9 inside of { } and [ ] a reference stands in quotes: "${env:NAME}"'],
    ],
    [
      'an open bracket',
      'a: [b, c\nd: 1\n',
      ['f.yaml:2:1 a bracket or brace that was opened above is not closed before this place'],
    ],
    [
      'a brace too many',
      'a: {b: 1}}\n',
      ['f.yaml:1:10 this belongs to nothing; a bracket, brace or quote before it is one too many or missing'],
    ],
    [
      'no blank behind the colon',
      'a:\n  b:1\n  c: 2\n',
      [
        'f.yaml:2:3 KEY: VALUE is expected here, with a blank after the colon and the indentation of the lines around',
      ],
    ],
    [
      'two colons',
      'a: b: c\n',
      ['f.yaml:1:4 this line has two keys, or a value that holds ": "; put such a value in quotes'],
    ],
    [
      'a list that ends early',
      'a:\n- b: 1\n c: 2\n',
      [
        'f.yaml:3:1 this line belongs to no entry of the list; indent it as its entry, or begin one with "- "',
      ],
    ],
    ['nested without end', `a: ${'['.repeat(20_000)}`, ['nested too deeply to be read']],
  ])('%s', (_title, text, expected) => {
    expect(
      faults(text).map((fault, index) =>
        expected[index]?.startsWith('f.') ? fault : fault.replace(/^\S+ /, ''),
      ),
    ).toEqual(expected);
  });
});

describe('YAML that can be read', () => {
  test('keys that stand twice are told with the rest of the file', () => {
    expect(
      faults(
        `${CLUSTER}admin:\n  bind: 127.0.0.1\n  bind: 127.0.0.1:1\nstate: {}\nstate: { partitions: 0 }\n`,
      ),
    ).toEqual([
      'f.yaml:3:9 admin.bind: "127.0.0.1" has no port; write 127.0.0.1:9092',
      'f.yaml:4:3 admin.bind: this key stands there twice; keep one',
      'f.yaml:6:1 state: this key stands there twice; keep one',
    ]);
  });

  test('a second document is told, and the first judged', () => {
    expect(faults('clusters: {}\nwat: 1\n---\nclusters: {}\n').map((fault) => fault.slice(0, 40))).toEqual([
      'f.yaml:2:1 wat: this key is not known he',
      'f.yaml:3:1 a second document begins here',
    ]);
  });

  test('a file of comments is empty', () => {
    expect(faults('# nothing\n---\n# at all\n')).toEqual([
      expect.stringMatching(/the file is empty; it needs at least clusters:$/),
    ]);
  });

  test('carriage returns and a byte order mark move no column', () => {
    const text = 'clusters:\n  a:\n    bootstrap.servers: a\nadmin: 3\n';
    const expected = faults(text);
    expect(expected).toHaveLength(2);
    expect(faults(text.replaceAll('\n', '\r\n'))).toEqual(expected);
    expect(faults(`\uFEFF${text}`)).toEqual(expected);
    expect(faults('\uFEFFclusters: 3')).toEqual([expect.stringMatching(/^f.yaml:1:11 clusters: /)]);
  });

  test('anchors, aliases and merge keys', () => {
    const config = good(`clusters:
  a: &one { bootstrap.servers: "a:1", client.id: x }
  b: { <<: *one, bootstrap.servers: &servers "b:1" }
  c: { <<: [*one], bootstrap.servers: "c:1" }
gateways:
  - &gateway { name: a, cluster: a, bind: "127.0.0.1:1", nodeIds: &ids [1, 2], brokerPorts: 2-3 }
  - { <<: *gateway, name: b, cluster: b, bind: "127.0.0.1:4", nodeIds: *ids, brokerPorts: 5-6 }
`);
    expect(config.clusters.get('b')).toMatchObject({
      properties: { 'client.id': 'x', 'bootstrap.servers': 'b:1' },
    });
    expect(config.clusters.get('c')?.properties['client.id']).toBe('x');
    expect([...(config.gateways[1]?.brokerPorts.keys() ?? [])]).toEqual([1, 2]);
  });

  test('a fault behind an anchor is told once, where it stands', () => {
    const text = `${CLUSTER}gateways:
  - { name: a, cluster: a, bind: "127.0.0.1:1", nodeIds: 1, brokerPorts: 2, limits: &l { maxFrameBytes: 1 } }
  - { name: b, cluster: a, bind: "127.0.0.1:3", nodeIds: 1, brokerPorts: 4, limits: *l }
`;
    expect(faults(text)).toEqual([
      'f.yaml:3:105 gateways.0.limits.maxFrameBytes: must be at least 1024, found 1',
    ]);
  });

  test('aliases that lead nowhere, or back to themselves', () => {
    expect(faults('clusters:\n  a: *x\n  b: &b { c: *b }\n  <<: 3\n')).toEqual([
      'f.yaml:2:6 clusters.a: no anchor &x stands above; name one that does, or write the value out',
      'f.yaml:3:9 clusters.b.bootstrap.servers: bootstrap.servers is missing; write host:port',
      'f.yaml:3:11 clusters.b.c: c is not a client property that Isthmus knows; remove it',
      'f.yaml:3:14 clusters.b.c: *b stands inside of what it stands for; write the value out',
      'f.yaml:4:3 clusters.<<: << merges maps only: write <<: *ANCHOR of a map',
    ]);
  });

  test('a few lines of aliases of aliases do not become billions of values (or the test runs out of time)', () => {
    const lines = ['gateways: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let n = 1; n < 12; n += 1) lines.push(`k${n}: &a${n} [${`*a${n - 1}, `.repeat(10)}]`);
    const found = faults(`${CLUSTER}${lines.join('\n')}\n`);
    expect(
      found.filter((fault) => /aliases up to here stand for more than 20,000 values/.test(fault)),
    ).toHaveLength(1);
  });

  test('tags mean nothing, and bring up nothing else', () => {
    expect(
      faults(`${CLUSTER}state: { partitions: !many 3, topic: !!str __x }\nadmin: !!binary aGk=\n`),
    ).toEqual([
      'f.yaml:2:28 state.partitions: the tag !many means nothing here; remove it',
      'f.yaml:3:17 admin: the tag !!binary means nothing here; remove it',
    ]);
  });

  test('a key that is no text', () => {
    expect(faults(`${CLUSTER}? [a, b]\n: 1\n`)).toEqual(['f.yaml:2:3 a key is a text']);
  });

  test('keys that JavaScript objects have are not known either', () => {
    expect(faults(`${CLUSTER}__proto__: 1\nconstructor: 2\n`).map((fault) => fault.split(';')[0])).toEqual([
      'f.yaml:2:1 __proto__: this key is not known here',
      'f.yaml:3:1 constructor: this key is not known here',
    ]);
    expect(faults(`clusters: { __proto__: { bootstrap.servers: "a:1" } }`)).toEqual([
      expect.stringMatching(/clusters.__proto__: a name has 1 to 100 letters/),
    ]);
  });

  test('numbers of client properties are taken as they are written', () => {
    expect(
      good('clusters: { a: { bootstrap.servers: "a:1", client.id: 007 } }').clusters.get('a')?.properties[
        'client.id'
      ],
    ).toBe('007');
  });

  test('a list without quotes inside of braces', () => {
    const text = `${CLUSTER}gateways: [{ name: g, cluster: a, bind: "127.0.0.1:9", nodeIds: 1,2, brokerPorts: [1, 2] }]\n`;
    expect(faults(text)).toEqual([
      'f.yaml:2:67 gateways.0.2: this is no key; inside { } a list like 1,2 stands in quotes or in [ ]',
    ]);
  });
});

describe('files', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'isthmus-config-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const ofFile = (bytes: Uint8Array | string): string[] => {
    const file = join(folder, 'f.yaml');
    writeFileSync(file, bytes);
    const result = load(file, {});
    return result.ok ? [] : result.faults.map((fault) => formatFault({ ...fault, file: 'f.yaml' }));
  };

  test.each<[string, Uint8Array | string, string[]]>([
    [
      'UTF-16',
      Buffer.from('\uFEFFclusters: {}', 'utf16le'),
      ['f.yaml:1:1 the file is UTF-16; save it as UTF-8'],
    ],
    [
      'Latin-1',
      Buffer.from('# a\n# \xe4\n', 'latin1'),
      ['f.yaml:2:1 the file is not UTF-8; save it as UTF-8'],
    ],
    ['more than 4 MiB', `#${'#'.repeat(4 * 1024 * 1024)}`, ['f.yaml:1:1 the file is larger than 4 MiB']],
    ['a replacement character that stands there', '# \uFFFD\nclusters: {}\n', []],
  ])('%s', (_title, bytes, expected) => {
    expect(ofFile(bytes)).toEqual(expected);
  });

  test('a folder', () => {
    expect(load(folder, {})).toMatchObject({
      ok: false,
      faults: [{ message: 'this is a folder; name a file in it' }],
    });
  });

  test('what never ends is not read to its end', () => {
    expect(load('/dev/zero', {})).toMatchObject({
      ok: false,
      faults: [{ message: 'the file is larger than 4 MiB' }],
    });
  });

  test('a large file is read within the time of the test', () => {
    const entries = Array.from({ length: 20_000 }, (_, n) => `  c${n}: { bootstrap.servers: "h${n}:1" }`);
    const topics = Array.from({ length: 20_000 }, (_, n) => `t${n}`).join(', ');
    const mirror = (name: string, source: string): string =>
      `  - { name: ${name}, source: ${source}, destination: c0, topics: { include: [${topics}, /x.*/] } }`;
    const found = ofFile(
      `clusters:\n${entries.join('\n')}\nmirrors:\n${mirror('a', 'c1')}\n${mirror('b', 'c2')}\n`,
    );
    expect(found).toHaveLength(20_001);
  });
});
