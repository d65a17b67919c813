import { parseHostPort } from './address.ts';
import type { Findings } from './findings.ts';
import { isKnown, type Unknown } from './known.ts';
import type { WantedPort } from './port-rules.ts';
import { adminSchema } from './schema.ts';
import { fillReferences, Secret } from './secret.ts';
import { readShape } from './shape.ts';
import type { AdminConfig } from './types.ts';
import type { Tree } from './yaml-tree.ts';

const SHORTEST_TOKEN = 16;

/** The HTTP listener; null when there is none, or when a fault stands in its way. */
export function readAdmin(
  tree: Tree | undefined,
  findings: Findings,
  env: NodeJS.ProcessEnv,
  wanted: WantedPort[],
): AdminConfig | null {
  if (tree === undefined) return null;
  const admin = readShape(adminSchema, tree, ['admin'], findings);
  if (!isKnown(admin)) return null;
  const token = readToken(admin.token, findings, env);
  if (!isKnown(admin.bind)) return null;
  const bind = parseHostPort(admin.bind);
  if (!bind.ok) {
    findings.fault(['admin', 'bind'], bind.message);
    return null;
  }
  const { host, port } = bind.value;
  wanted.push({ host, port, what: 'bind of admin', path: ['admin', 'bind'] });
  if (!isLoopback(host) && admin.token === undefined) {
    const message = `${host} is not loopback; add token: \${file:PATH}, or bind 127.0.0.1:${port}`;
    findings.fault(['admin', 'bind'], message);
  }
  return { bind: bind.value, token };
}

function readToken(
  given: string | Unknown | undefined,
  findings: Findings,
  env: NodeJS.ProcessEnv,
): Secret | null {
  if (given === undefined || !isKnown(given)) return null;
  const path = ['admin', 'token'];
  if (!/^\$\{(env|file):[^}]+\}$/.test(given)) {
    findings.fault(path, 'a secret stands in a file or in the environment: ${file:PATH} or ${env:NAME}');
    return null;
  }
  const filled = fillReferences(given, findings.places.file, env);
  if (!filled.ok) {
    for (const message of filled.messages) findings.fault(path, message);
    return null;
  }
  if (filled.value.length < SHORTEST_TOKEN) {
    findings.fault(path, `the token is shorter than ${SHORTEST_TOKEN} characters`);
    return null;
  }
  return new Secret(filled.value);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
