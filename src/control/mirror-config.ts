import { ErrorCode } from '../../protocol/errors.ts';
import { Refused, type VerbOptions } from './verbs/types.ts';

/**
 * KIP-1279's config of CreateClusterMirror, with and without its `mirror.` prefix. Connections are configured in
 * the YAML alone: the request only says which of its clusters is meant, by name or by `bootstrap.servers`.
 */
export function parseMirrorConfig(
  entries: readonly { readonly name: string; readonly value: string | null }[],
  clusters: ReadonlyMap<string, string>,
): VerbOptions {
  const given = new Map<string, string>();
  for (const { name, value } of entries) {
    const key = name.startsWith('mirror.') ? name.slice('mirror.'.length) : name;
    if (isSecret(key)) {
      throw new Refused(
        ErrorCode.INVALID_CONFIG,
        `${name} is not taken from a request: secrets stand in the configuration as \${file:…} or \${env:…}`,
      );
    }
    if (value !== null) given.set(key, value);
  }
  const options: { -readonly [K in keyof VerbOptions]: VerbOptions[K] } = {
    include: list(given, 'topics.include'),
    exclude: list(given, 'topics.exclude').filter((entry) => entry !== '/__.*/'),
  };
  const source = sourceOf(given, clusters);
  if (source !== undefined) options.source = source;
  const sourceClusterId = given.get('source.cluster.id');
  if (sourceClusterId !== undefined) options.sourceClusterId = sourceClusterId;
  const copier = given.get('copier');
  if (copier !== undefined) options.copier = copier;
  const factor = given.get('topics.replication.factor');
  if (factor !== undefined) options.replicationFactor = Number(factor);
  for (const key of given.keys()) {
    if (known.has(key)) continue;
    throw new Refused(
      ErrorCode.INVALID_CONFIG,
      `${key} is not a setting of a mirror here; known: ${[...known].join(', ')}`,
    );
  }
  return options;
}

const known = new Set([
  'source',
  'bootstrap.servers',
  'source.cluster.id',
  'topics.include',
  'topics.exclude',
  'topics.replication.factor',
  'copier',
]);

function isSecret(key: string): boolean {
  return /^(sasl\.|ssl\.)/.test(key) || /password|secret|jaas|token/.test(key);
}

function sourceOf(
  given: ReadonlyMap<string, string>,
  clusters: ReadonlyMap<string, string>,
): string | undefined {
  const named = given.get('source');
  const servers = given.get('bootstrap.servers');
  if (servers === undefined) return named;
  const found = [...clusters].find(([, configured]) => sameServers(configured, servers))?.[0];
  if (found === undefined) {
    throw new Refused(
      ErrorCode.INVALID_CONFIG,
      `bootstrap.servers ${servers} is not that of a configured cluster; configured: ` +
        [...clusters].map(([name, configured]) => `${name} (${configured})`).join(', '),
    );
  }
  if (named !== undefined && named !== found) {
    throw new Refused(
      ErrorCode.INVALID_CONFIG,
      `source ${named} and bootstrap.servers ${servers} (cluster ${found}) disagree`,
    );
  }
  return found;
}

function sameServers(a: string, b: string): boolean {
  const set = (text: string) => new Set(text.split(',').map((server) => server.trim().toLowerCase()));
  const [left, right] = [set(a), set(b)];
  return left.size === right.size && [...left].every((server) => right.has(server));
}

/** Comma-separated regular expressions, also in the tools' bracket form `[a,b]`; each becomes `/…/`. */
function list(given: ReadonlyMap<string, string>, key: string): string[] {
  const text = given.get(key)?.trim() ?? '';
  const inner = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  return inner
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(kipPattern);
}

/** KIP-1279 writes patterns bare. A plain name stays literal, so that `a.b` never means `axb`. */
export function kipPattern(entry: string): string {
  return /^[a-zA-Z0-9._-]+$/.test(entry) ? entry : `/${entry}/`;
}
