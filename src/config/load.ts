import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type HostPort, parseBootstrapServers, parseHostPort } from './address.ts';
import { judgeProperty } from './client-properties.ts';
import { buildGateway, portFaults, type WantedPort, withoutUndefined } from './gateway-rules.ts';
import { laterAppendFaults, laterLinkFaults, mirrorFaults, type Placed } from './mirror-rules.ts';
import { type Path, Places } from './places.ts';
import {
  appendSchema,
  configSchema,
  gatewaySchema,
  linkSchema,
  type MirrorInput,
  mirrorSchema,
} from './schema.ts';
import { fillReferences, hasReference, Secret } from './secret.ts';
import { shapeFaults, withoutUnknownKeys } from './shape-faults.ts';
import type {
  AdminConfig,
  AppendConfig,
  ClusterConfig,
  Config,
  Fault,
  GatewayConfig,
  LinkConfig,
  LoadResult,
  MirrorConfig,
  StateConfig,
} from './types.ts';

const MIB = 1024 * 1024;

export const linkDefaults: LinkConfig = {
  fetchers: 1,
  bufferBytes: 24 * MIB,
  fetchMaxBytes: 4 * MIB,
  fetchMaxWaitMs: 500,
  maxRequestBytes: 8 * MIB,
};

export const appendDefaults: AppendConfig = {
  produceTimeoutMs: 30_000,
  readBackTimeoutMs: 2_000,
  silenceMs: 60_000,
  markerStillMs: 2_000,
  ioThreads: 8,
};

/** Reads and checks a YAML file. Never throws for what a user wrote: every fault is in the result, with its place. */
export function load(file: string, env: NodeJS.ProcessEnv = process.env): LoadResult {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const why =
      code === 'ENOENT' ? 'there is no such file' : `the file can't be read (${code ?? String(error)})`;
    return { ok: false, faults: [{ file, line: 1, column: 1, path: '', message: why }], warnings: [] };
  }
  return loadText(file, text, env);
}

/** As `load`, for a text at hand; `file` names it and is where `${file:...}` paths begin. */
export function loadText(file: string, text: string, env: NodeJS.ProcessEnv = process.env): LoadResult {
  const places = new Places(file, text);
  const syntax = places.syntaxFaults();
  if (syntax.length > 0) return { ok: false, faults: syntax, warnings: [] };
  let root: unknown;
  try {
    root = places.document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, faults: [places.fault([], message)], warnings: [] };
  }
  return new Loader(places, env).run(root);
}

class Loader {
  readonly #places: Places;
  readonly #env: NodeJS.ProcessEnv;
  readonly #faults: Fault[] = [];
  readonly #warnings: Fault[] = [];
  readonly #wanted: WantedPort[] = [];

  constructor(places: Places, env: NodeJS.ProcessEnv) {
    this.#places = places;
    this.#env = env;
  }

  run(root: unknown): LoadResult {
    const top = this.#top(root);
    const clusters = this.#clusters(top['clusters']);
    const addresses = new Map([...clusters].map(([name, cluster]) => [name, cluster.bootstrap]));
    const mirrors = this.#list(top['mirrors'], mirrorSchema, 'mirrors');
    const gateways = this.#list(top['gateways'], gatewaySchema, 'gateways');
    const link = this.#section(top['link'], linkSchema, ['link']) ?? {};
    const append = this.#section(top['append'], appendSchema, ['append']) ?? {};
    this.#faults.push(...laterLinkFaults(link, ['link'], this.#places));
    this.#faults.push(...laterAppendFaults(append, ['append'], this.#places));
    if (top['gaps'] !== undefined) {
      this.#faults.push(
        this.#places.keyFault(['gaps'], 'mirroring over offset gaps comes later; remove the key'),
      );
    }

    const judged = mirrorFaults(mirrors, addresses, this.#places);
    this.#faults.push(...judged.faults);
    this.#warnings.push(...judged.warnings);
    const builtGateways = this.#gateways(gateways, clusters, mirrors);
    const admin = this.#admin(top['admin']);
    const state = this.#state(top['state']);
    this.#faults.push(...portFaults(this.#wanted, this.#places));
    this.#unguarded(mirrors, builtGateways);

    const warnings = inOrder(this.#warnings);
    if (this.#faults.length > 0) return { ok: false, faults: inOrder(this.#faults), warnings };
    const config: Config = {
      file: this.#places.file,
      clusters,
      gateways: builtGateways,
      mirrors: mirrors.map(({ value }) => buildMirror(value, link, append)),
      admin,
      state,
      link: buildLink(link),
      append: buildAppend(append),
    };
    return { ok: true, config, warnings };
  }

  #top(root: unknown): Record<string, unknown> {
    if (root === null || root === undefined) {
      this.#faults.push(this.#places.fault([], 'the file is empty; it needs at least clusters:'));
      return {};
    }
    const shape = Object.fromEntries(
      Object.keys(configSchema.shape).map((key) => [key, z.unknown().optional()]),
    );
    const checked = this.#section(root, z.strictObject(shape), []);
    if (checked !== null && checked['clusters'] === undefined) {
      this.#faults.push(this.#places.fault(['clusters'], 'a map of clusters is missing'));
    }
    // unknown keys are reported and the rest is judged all the same
    return typeof root === 'object' && !Array.isArray(root) ? (root as Record<string, unknown>) : {};
  }

  #section<S extends z.ZodType>(value: unknown, schema: S, path: Path): z.output<S> | null {
    if (value === undefined) return null;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    this.#faults.push(...shapeFaults(parsed.error.issues, schema, value, path, this.#places));
    // an unknown key is told, and what stands beside it is judged all the same
    const known = schema.safeParse(withoutUnknownKeys(value, parsed.error.issues));
    return known.success ? known.data : null;
  }

  #list<S extends z.ZodType>(value: unknown, schema: S, key: string): Placed<z.output<S>>[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) {
      this.#faults.push(this.#places.fault([key], 'must be a list'));
      return [];
    }
    return value.flatMap((item, index) => {
      const parsed = this.#section(item ?? {}, schema, [key, index]);
      return parsed === null ? [] : [{ value: parsed, path: [key, index] }];
    });
  }

  #clusters(value: unknown): Map<string, ClusterConfig> {
    const clusters = new Map<string, ClusterConfig>();
    if (value === undefined) return clusters;
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      this.#faults.push(
        this.#places.fault(['clusters'], 'must be a map: name: { bootstrap.servers: "host:port" }'),
      );
      return clusters;
    }
    for (const [name, raw] of Object.entries(value)) {
      const path: Path = ['clusters', name];
      if (!/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$/.test(name)) {
        this.#faults.push(
          this.#places.keyFault(path, 'a name has 1 to 100 letters, digits, ".", "_" or "-"'),
        );
      }
      clusters.set(name, this.#cluster(name, raw, path));
    }
    return clusters;
  }

  #cluster(name: string, raw: unknown, path: Path): ClusterConfig {
    if (raw === null || typeof raw !== 'object' || Array.isArray(raw)) {
      this.#faults.push(
        this.#places.fault(path, 'must be a map of Kafka client properties, at least bootstrap.servers'),
      );
      return { name, properties: {}, bootstrap: [] };
    }
    const properties: Record<string, string> = {};
    for (const [key, given] of Object.entries(raw)) {
      const at: Path = [...path, key];
      if (given === null || typeof given === 'object') {
        this.#faults.push(this.#places.fault(at, 'must be a text, a number, or true or false'));
        continue;
      }
      // judged before references are filled in, so that a secret of an unusable property is never read
      const verdict = judgeProperty(key, String(given));
      if (verdict.kind === 'later' || verdict.kind === 'unknown') {
        this.#faults.push(this.#places.keyFault(at, verdict.message));
        continue;
      }
      if (verdict.kind === 'no-effect') {
        this.#warnings.push(this.#places.keyFault(at, 'this client property has no effect in Isthmus'));
      }
      const filled = this.#filled(String(given), at);
      if (filled !== null) properties[key] = filled;
    }
    let bootstrap: readonly HostPort[] = [];
    const servers = properties['bootstrap.servers'];
    if (!('bootstrap.servers' in raw)) {
      this.#faults.push(
        this.#places.fault([...path, 'bootstrap.servers'], 'bootstrap.servers is missing; write host:port'),
      );
    } else if (servers !== undefined) {
      const parsed = parseBootstrapServers(servers);
      if (parsed.ok) bootstrap = parsed.value;
      else this.#faults.push(this.#places.fault([...path, 'bootstrap.servers'], parsed.message));
    }
    const timeout = properties['socket.connection.setup.timeout.ms'];
    if (timeout !== undefined && !/^[1-9]\d{0,8}$/.test(timeout)) {
      const at: Path = [...path, 'socket.connection.setup.timeout.ms'];
      this.#faults.push(this.#places.fault(at, 'must be a whole number of milliseconds above 0'));
    }
    return { name, properties, bootstrap };
  }

  #filled(text: string, path: Path): string | null {
    if (!hasReference(text)) return text;
    const filled = fillReferences(text, this.#places.file, this.#env);
    if (filled.ok) return filled.value;
    this.#faults.push(this.#places.fault(path, filled.message));
    return null;
  }

  #gateways(
    gateways: readonly Placed<z.output<typeof gatewaySchema>>[],
    clusters: ReadonlyMap<string, ClusterConfig>,
    mirrors: readonly Placed<MirrorInput>[],
  ): GatewayConfig[] {
    const names = new Set<string>();
    return gateways.flatMap((gateway) => {
      if (names.has(gateway.value.name)) {
        const at: Path = [...gateway.path, 'name'];
        this.#faults.push(
          this.#places.fault(at, `a second gateway named ${gateway.value.name}; names are unique`),
        );
      }
      names.add(gateway.value.name);
      const { config, faults } = buildGateway(gateway, clusters, mirrors, this.#places, this.#wanted);
      this.#faults.push(...faults);
      return config === null ? [] : [config];
    });
  }

  #admin(value: unknown): AdminConfig | null {
    const admin = this.#section(value, configSchema.shape.admin.unwrap(), ['admin']);
    if (admin === null) return null;
    const bind = parseHostPort(admin.bind);
    if (!bind.ok) {
      this.#faults.push(this.#places.fault(['admin', 'bind'], bind.message));
      return null;
    }
    this.#wanted.push({ ...bind.value, what: 'admin bind', path: ['admin', 'bind'] });
    let token: Secret | null = null;
    if (admin.token !== undefined) {
      if (!/^\$\{(env|file):[^}]+\}$/.test(admin.token)) {
        const message = 'a secret stands in a file or in the environment: ${file:PATH} or ${env:NAME}';
        this.#faults.push(this.#places.fault(['admin', 'token'], message));
      } else {
        const filled = this.#filled(admin.token, ['admin', 'token']);
        if (filled !== null && filled.length < 16) {
          this.#faults.push(
            this.#places.fault(['admin', 'token'], 'the token is shorter than 16 characters'),
          );
        } else if (filled !== null) token = new Secret(filled);
      }
    }
    if (!isLoopback(bind.value.host) && admin.token === undefined) {
      const message = `${bind.value.host} is not loopback; add token: \${file:PATH}, or bind 127.0.0.1:${bind.value.port}`;
      this.#faults.push(this.#places.fault(['admin', 'bind'], message));
    }
    return { bind: bind.value, token };
  }

  #state(value: unknown): StateConfig {
    const state = this.#section(value, configSchema.shape.state.unwrap(), ['state']) ?? {};
    const topic = state.topic ?? '__mirror_state';
    if (!/^__[a-zA-Z0-9._-]{1,247}$/.test(topic)) {
      const message =
        'the state topic is internal: its name begins with "__" and has letters, digits, ".", "_" and "-"';
      this.#faults.push(this.#places.fault(['state', 'topic'], message));
    }
    return { topic, partitions: state.partitions ?? 50, replicationFactor: state['replication.factor'] ?? 3 };
  }

  #unguarded(mirrors: readonly Placed<MirrorInput>[], gateways: readonly GatewayConfig[]): void {
    for (const { value, path } of mirrors) {
      if (gateways.some(({ cluster, role }) => cluster === value.destination && role === 'client')) continue;
      const message = `no gateway leads to ${value.destination}: verbs and the read-only guard need one`;
      this.#warnings.push(this.#places.fault([...path, 'destination'], message));
    }
  }
}

function buildMirror(mirror: MirrorInput, link: LinkInput, append: AppendInput): MirrorConfig {
  return {
    name: mirror.name,
    source: mirror.source,
    destination: mirror.destination,
    topics: { include: mirror.topics.include, exclude: mirror.topics.exclude },
    replicationFactor: mirror.topics['replication.factor'] ?? null,
    groups: mirror.groups ?? { include: [], exclude: [] },
    copier: mirror.copier,
    link: buildLink(link, mirror.link ?? {}),
    append: buildAppend(append, mirror.append ?? {}),
  };
}

type LinkInput = z.output<typeof linkSchema>;
type AppendInput = z.output<typeof appendSchema>;

/** Later ones win; what comes later in the other sense was refused before. */
function buildLink(...inputs: readonly LinkInput[]): LinkConfig {
  const { maxBytesPerSecond: _rate, ...given } = Object.assign(
    {},
    ...inputs.map(withoutUndefined),
  ) as LinkInput;
  return { ...linkDefaults, ...withoutUndefined(given) };
}

function buildAppend(...inputs: readonly AppendInput[]): AppendConfig {
  const {
    moveLeadership: _move,
    taintHold: _hold,
    ...given
  } = Object.assign({}, ...inputs.map(withoutUndefined)) as AppendInput;
  return { ...appendDefaults, ...withoutUndefined(given) };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

function inOrder(faults: readonly Fault[]): Fault[] {
  return faults.toSorted((a, b) => a.line - b.line || a.column - b.column);
}
