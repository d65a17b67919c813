/** A valid file and the ways to break it, each with the place and the words of what has to be told. */
export const TOKEN = 'a-token-of-many-letters';

export const VALID = `clusters:
  east:
    bootstrap.servers: "east-1:9092,east-2:9092"
    client.id: isthmus-east
  west:
    bootstrap.servers: "west-1:9092"
    socket.connection.setup.timeout.ms: 5000
  north:
    bootstrap.servers: "north-1:9092"
gateways:
  - name: west-clients
    cluster: west
    role: client
    bind: 0.0.0.0:9192
    advertise: gw.example.com
    nodeIds: 1-3
    brokerPorts: 9193-9195
    readOnlyError: policy-violation
    limits: { maxFrameBytes: 1048576, idleTimeoutMs: 1000 }
  - name: north-copier
    cluster: north
    role: mirror
    mirror: external-copy
    bind: 127.0.0.1:9292
    nodeIds: [4, 5]
    brokerPorts: [9293, 9294]
mirrors:
  - name: east-to-west
    source: east
    destination: west
    topics:
      include: [orders, /payments-.*/]
      exclude: [payments-test]
      replication.factor: 2
    link: { fetchers: 2 }
  - name: external-copy
    source: east
    destination: north
    copier: external
    topics:
      include: [invoices]
  - name: north-to-west
    source: north
    destination: west
    topics:
      include: [stock]
admin:
  bind: 127.0.0.1:9190
  token: \${env:TOKEN}
state:
  topic: __mirror_state
  partitions: 50
  replication.factor: 3
link:
  fetchMaxWaitMs: 100
append:
  ioThreads: 8
  moveLeadership: false
`;

export interface FaultKind {
  readonly title: string;
  /** Stands once in the valid file. */
  readonly from: string;
  /** Takes its place. `¦` is where the fault is told, when it is not at `place`. */
  readonly to: string;
  /** Text of the valid file at whose beginning the fault is told. */
  readonly place?: string;
  readonly says: RegExp;
  /** Texts of the valid file without which it can't be judged. */
  readonly needs?: readonly string[];
  /** Of what others need, what is known all the same. */
  readonly keeps?: readonly string[];
}

const kind = (
  title: string,
  from: string,
  to: string,
  says: RegExp,
  more: Partial<FaultKind> = {},
): FaultKind => ({
  title,
  from,
  to,
  says,
  ...more,
});

const WEST_GATEWAY = 'name: west-clients';
const FIRST_MIRROR = 'name: east-to-west';
const WEST_BIND = 'bind: 0.0.0.0:9192';
const WEST_SERVERS = '"west-1:9092"';

export const FAULTS: readonly FaultKind[] = [
  // clusters
  kind(
    'servers without a port',
    '"east-1:9092,east-2:9092"',
    '¦"east-1:9092,east-2"',
    /"east-2" has no port; write east-2:9092/,
  ),
  kind(
    'no servers',
    '    bootstrap.servers: "north-1:9092"',
    '    client.id: x',
    /bootstrap.servers is missing/,
    { place: '    bootstrap.servers: "north-1:9092"' },
  ),
  kind('servers of a wrong kind', WEST_SERVERS, '¦[west-1]', /must be a text, a number, or true or false/),
  kind(
    'a property that comes later',
    'client.id: isthmus-east',
    '¦security.protocol: SASL_SSL',
    /TLS and SASL come later/,
  ),
  kind(
    'a property that is unknown',
    'socket.connection.setup.timeout.ms: 5000',
    '¦colour: red',
    /colour is not a client property/,
  ),
  // the first gateway
  kind(
    'a gateway without name',
    '- name: west-clients\n    cluster',
    '- ¦cluster',
    /gateways\.0\.name: a text is missing/,
  ),
  kind('a gateway without cluster', '    cluster: west\n', '', /gateways\.0\.cluster: a text is missing/, {
    place: WEST_GATEWAY,
  }),
  kind(
    'a gateway to nowhere',
    'cluster: west\n',
    'cluster: ¦wset\n',
    /no cluster is named wset; known are east, west, north/,
  ),
  kind(
    'a role that is none',
    'role: client',
    'role: ¦server',
    /must be one of client, mirror, found "server"/,
  ),
  kind('a bind of a wrong kind', '0.0.0.0:9192', '¦9192', /must be host:port, found 9192/),
  kind('a bind without port', '0.0.0.0:9192', '¦0.0.0.0', /"0.0.0.0" has no port/, { keeps: [WEST_BIND] }),
  kind('a wildcard told to clients', 'gw.example.com', '¦0.0.0.0', /0.0.0.0 is every interface/),
  kind(
    'an advertise of a wrong kind',
    'gw.example.com',
    '¦[gw]',
    /gateways\.0\.advertise: must be a text, found a list/,
  ),
  kind('node ids backwards', '1-3', '¦3-1', /the range 3-1 runs backwards/),
  kind('fewer ports than node ids', '9193-9195', '¦9193-9194', /2 ports for 3 node ids/, {
    needs: ['nodeIds: 1-3'],
  }),
  kind(
    'no broker ports',
    '    brokerPorts: 9193-9195\n',
    '',
    /gateways\.0\.brokerPorts: a list of numbers .* is missing/,
    { place: WEST_GATEWAY },
  ),
  kind(
    'an error that is none',
    'policy-violation',
    '¦nothing',
    /must be one of policy-violation, read-only-topic/,
  ),
  kind(
    'a limit below its least',
    'maxFrameBytes: 1048576',
    'maxFrameBytes: ¦3',
    /must be at least 1024, found 3/,
  ),
  kind(
    'a limit in quotes',
    'idleTimeoutMs: 1000',
    'idleTimeoutMs: ¦"1000"',
    /must be a whole number, found "1000"; write it without quotes/,
  ),
  // the second gateway
  kind(
    'a mirror that is none',
    'mirror: external-copy',
    'mirror: ¦other',
    /no mirror is named other; known are/,
    { needs: [FIRST_MIRROR, 'name: external-copy', 'name: north-to-west', 'role: mirror'] },
  ),
  kind(
    'a mirror that writes elsewhere',
    'cluster: north\n',
    'cluster: east\n',
    /mirror external-copy writes to north, but this gateway leads to east/,
    {
      place: 'external-copy\n    bind',
      needs: ['name: external-copy', 'destination: north', 'role: mirror', 'mirror: external-copy'],
    },
  ),
  kind(
    'a port of the bind twice',
    '127.0.0.1:9292',
    '¦127.0.0.1:9192',
    /port 9192 is taken by bind of (another )?gateway/,
    { needs: ['0.0.0.0:9192'] },
  ),
  kind('a broker port twice', '9293', '9195', /port 9195 is taken by brokerPorts of (another )?gateway/, {
    place: '[9293, 9294]',
    needs: ['9193-9195', WEST_BIND, '127.0.0.1:9292'],
  }),
  kind('a node id twice', '[4, 5]', '¦[4, 4]', /4 is given twice/),
  kind(
    'an unknown key',
    '    role: mirror\n',
    '    role: mirror\n    ¦wat: 1\n',
    /wat: this key is not known here/,
  ),
  kind(
    'a key that comes later',
    '    nodeIds: [4',
    '    ¦tls: { cert: x }\n    nodeIds: [4',
    /TLS comes later/,
  ),
  // mirrors
  kind(
    'a mirror without name',
    '- name: east-to-west\n    source',
    '- ¦source',
    /mirrors\.0\.name: a text is missing/,
  ),
  kind(
    'a source of a wrong kind',
    'source: east\n    destination: west',
    'source: ¦{ }\n    destination: west',
    /mirrors\.0\.source: must be a text, found a map/,
  ),
  kind(
    'a topic list of a wrong kind',
    '[orders, /payments-.*/]',
    '¦orders',
    /must be a list, found "orders"/,
  ),
  kind('an expression that is none', '/payments-.*/', '¦"/payments-(/"', /is not a regular expression/),
  kind(
    'an entry of a wrong kind',
    'exclude: [payments-test]',
    'exclude: [¦7]',
    /must be a text, found 7; write it in quotes/,
  ),
  kind('a factor of none', 'replication.factor: 2', 'replication.factor: ¦0', /must be at least 1, found 0/),
  kind('a misspelt key', '    link: { fetchers: 2 }', '    ¦lnk: { fetchers: 2 }', /did you mean link\?/),
  kind(
    'more than may be',
    '    link: { fetchers: 2 }',
    '    link: { fetchers: ¦65 }',
    /must be at most 64, found 65/,
  ),
  kind(
    'a second mirror of the name',
    'name: north-to-west',
    'name: ¦east-to-west',
    /a second mirror named east-to-west/,
    { needs: [FIRST_MIRROR] },
  ),
  kind(
    'a cluster mirrored into itself',
    'source: north',
    'source: west',
    /source and destination are both west/,
    { place: 'west\n    topics:\n      include: [stock]' },
  ),
  kind(
    'a topic of two mirrors',
    '[stock]',
    '[¦orders]',
    /topic orders on west already belongs to (mirror|the mirror of line)/,
    {
      needs: [
        'destination: west\n    topics:\n      include: [orders',
        '[orders, /payments-.*/]',
        'exclude: [payments-test]',
      ],
    },
  ),
  kind('an internal topic', '[invoices]', '[¦__consumer_offsets]', /is an internal topic/),
  kind('no destination', '    destination: north\n', '', /destination: a text is missing/, {
    place: 'name: external-copy',
  }),
  // entries that others name, and keys that are nearly right
  kind(
    'a mirror whose name is of a wrong kind',
    'name: external-copy',
    'name: ¦[x]',
    /mirrors\.1\.name: must be a text, found a list/,
  ),
  kind(
    'a cluster of a wrong kind',
    'north:\n    bootstrap.servers: "north-1:9092"',
    'north: ¦3',
    /clusters\.north: must be a map of Kafka client properties/,
  ),
  kind('a misspelt cluster', 'cluster: north\n', '¦clustr: north\n', /did you mean cluster\?/, {
    keeps: ['cluster: north'],
  }),
  kind('misspelt ids', 'nodeIds: [4, 5]', '¦nodeId: [4, 5]', /did you mean nodeIds\?/),
  kind(
    'misspelt servers',
    'bootstrap.servers: "west-1:9092"',
    '¦bootstrap.server: "west-1:9092"',
    /did you mean bootstrap.servers\?/,
  ),
  kind('a misspelt section', 'admin:\n', '¦admn:\n', /did you mean admin\?/),
  kind(
    'a source that is none',
    'source: east\n    destination: north',
    'source: ¦esat\n    destination: north',
    /no cluster is named esat/,
  ),
  // the sections
  kind('admin on a broker port', '127.0.0.1:9190', '¦127.0.0.1:9194', /port 9194 is taken by brokerPorts/, {
    needs: [WEST_BIND, '9193-9195'],
  }),
  kind('admin without a port', '127.0.0.1:9190', '¦127.0.0.1', /"127.0.0.1" has no port/),
  kind('an inline secret', '${env:TOKEN}', '¦hunter2', /a secret stands in a file or in the environment/),
  kind(
    'a secret that is not there',
    '${env:TOKEN}',
    '¦${env:NOT_THERE}',
    /the environment has no variable NOT_THERE/,
  ),
  kind('an open state topic', '__mirror_state', '¦states', /the state topic is internal/),
  kind('half a partition', 'partitions: 50', 'partitions: ¦0.5', /must be a whole number, found 0.5/),
  kind(
    'a state section of a wrong kind',
    'link:\n  fetchMaxWaitMs: 100',
    'link: ¦[]',
    /link: must be a map of keys and values, found a list/,
  ),
  kind(
    'a link setting of a wrong kind',
    'fetchMaxWaitMs: 100',
    'fetchMaxWaitMs: ¦soon',
    /must be a whole number, found "soon"/,
  ),
  kind('append threads of none', 'ioThreads: 8', 'ioThreads: ¦0', /must be at least 1, found 0/),
  kind(
    'moved leaderships',
    'moveLeadership: false',
    'moveLeadership: ¦true',
    /moving leaderships comes later/,
  ),
  kind('an unknown section', 'append:\n', '¦wat: {}\nappend:\n', /wat: this key is not known here/),
  kind('gaps', 'append:\n', '¦gaps: {}\nappend:\n', /mirroring over offset gaps comes later/),
  kind(
    'a key twice',
    'replication.factor: 3',
    'replication.factor: 3\n  ¦topic: __other',
    /state\.topic: this key stands there twice/,
  ),
];

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly to: string;
}

function edit({ from, to }: FaultKind): Edit {
  const start = only(from);
  return { start, end: start + from.length, to };
}

/** Offset of a text that stands once in the valid file. */
function only(text: string): number {
  const start = VALID.indexOf(text);
  if (start < 0 || VALID.includes(text, start + 1)) throw new Error(`not once in the file: ${text}`);
  return start;
}

/** Whether both can be made in one file, on places of their own. */
export function fit(kinds: readonly FaultKind[]): boolean {
  const edits = kinds.map(edit).toSorted((a, b) => a.start - b.start);
  return edits.every((one, index) => index === 0 || (edits[index - 1]?.end ?? 0) <= one.start);
}

/** Whether each can be judged whatever the others did. */
export function areIndependent(kinds: readonly FaultKind[]): boolean {
  return kinds.every((one) =>
    kinds.every(
      (other) =>
        other === one ||
        (one.needs ?? []).every((text) => {
          if (other.keeps?.includes(text) === true) return true;
          const start = only(text);
          const { start: from, end } = edit(other);
          return end <= start || start + text.length <= from;
        }),
    ),
  );
}

export interface Broken {
  readonly text: string;
  /** `line:column` of each kind, in the order given. */
  readonly places: readonly string[];
}

export function broken(kinds: readonly FaultKind[]): Broken {
  const edits = kinds.map(edit).toSorted((a, b) => a.start - b.start);
  let text = '';
  let at = 0;
  const moved: { readonly start: number; readonly end: number; readonly now: number; readonly to: string }[] =
    [];
  for (const { start, end, to } of edits) {
    text += VALID.slice(at, start);
    moved.push({ start, end, now: text.length, to });
    text += to.replace('¦', '');
    at = end;
  }
  text += VALID.slice(at);
  const nowOf = (offset: number): number => {
    let shift = 0;
    for (const { start, end, to } of moved) {
      if (end > offset || start === offset) break;
      shift += to.replace('¦', '').length - (end - start);
    }
    return offset + shift;
  };
  const places = kinds.map((one) => {
    const own = moved.find(({ start }) => start === only(one.from));
    const mark = one.to.indexOf('¦');
    const offset =
      mark >= 0
        ? (own?.now ?? 0) + mark
        : nowOf(only(one.place ?? one.from) + leading(one.place ?? one.from));
    const before = text.slice(0, offset).split('\n');
    return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
  });
  return { text, places };
}

/** Blanks before the text are written for its uniqueness only. */
function leading(text: string): number {
  return text.length - text.trimStart().length;
}
