import { readFileSync } from 'node:fs';
import { errorName } from '../../protocol/errors.ts';
import { isthmusApi } from '../../protocol/schema/32001-isthmus.ts';
import { parseBootstrapServers } from '../config/address.ts';
import { connectTimeoutOf, judgeProperty } from '../config/client-properties.ts';
import type { BrokerConnection } from '../net/connection.ts';
import { ClusterUnreachableError, connectToAny } from '../net/race.ts';
import { failed, type Io, usage } from './io.ts';
import type { LossRow, PartitionRow } from './rows.ts';

/** A verb as it travels in the private API key 32001, and its answer. Both are JSON. */
export interface VerbRequest {
  readonly verb: string;
  readonly mirror: string | null;
  readonly topics: readonly string[] | null;
  readonly all: boolean;
  readonly dryRun: boolean;
  readonly options: Readonly<Record<string, unknown>>;
}

export interface VerbFault {
  readonly code: number;
  readonly name?: string;
  readonly message: string;
}

export interface VerbAnswer {
  readonly ok: boolean;
  readonly error?: VerbFault;
  readonly topics?: readonly { readonly topic: string; readonly error?: VerbFault }[];
  readonly plan?: {
    readonly steps: readonly Readonly<Record<string, unknown>>[];
    readonly notes: readonly string[];
  };
  readonly report?: readonly LossRow[];
  readonly describe?: readonly PartitionRow[];
  readonly list?: readonly Readonly<Record<string, unknown>>[];
  readonly status?: Readonly<Record<string, unknown>>;
}

export interface ConnectionFlags {
  readonly bootstrapServer?: string | undefined;
  readonly commandConfig?: string | undefined;
}

/** A command is taken or expires within its own deadline, which is shorter. */
const ANSWER_TIMEOUT_MS = 90_000;

/** Connects to the gateway named on the command line, or in ISTHMUS_BOOTSTRAP_SERVER. */
export async function connectFromFlags(flags: ConnectionFlags, io: Io): Promise<BrokerConnection> {
  const properties = flags.commandConfig === undefined ? {} : readProperties(flags.commandConfig);
  const text =
    flags.bootstrapServer ?? io.env['ISTHMUS_BOOTSTRAP_SERVER'] ?? properties['bootstrap.servers'] ?? '';
  if (text === '') {
    throw usage('no gateway is named: --bootstrap-server HOST:PORT, or set ISTHMUS_BOOTSTRAP_SERVER');
  }
  const servers = parseBootstrapServers(text);
  if (!servers.ok) throw usage(`--bootstrap-server: ${servers.message}`);
  const options = {
    clientId: properties['client.id'] ?? 'isthmus-cli',
    connectTimeoutMs: connectTimeoutOf(properties),
  };
  try {
    return (await connectToAny(text, servers.value, options)).connection;
  } catch (error) {
    if (!(error instanceof ClusterUnreachableError) || !/peer-closed|ECONNRESET/.test(error.message))
      throw error;
    throw failed(
      `${error.message} (it took the connection and closed it, as a gateway does while its own cluster is out of ` +
        'reach: its log says why)',
    );
  }
}

/** Connects, uses, and ends the connection whatever came of it. */
export async function withGateway<T>(
  flags: ConnectionFlags,
  io: Io,
  use: (connection: BrokerConnection) => Promise<T>,
): Promise<T> {
  const connection = await connectFromFlags(flags, io);
  try {
    return await use(connection);
  } finally {
    connection.end();
  }
}

/** @throws CommandError when the other side is a broker */
export function needGateway(connection: BrokerConnection): void {
  if (!connection.versions.has(isthmusApi.key)) {
    throw failed(
      `${connection.peer} is no Isthmus gateway (it does not know API key ${isthmusApi.key}): ` +
        'verbs go to the address under gateways: bind, not to a broker',
    );
  }
}

/** Asks one verb. @throws CommandError when the other side is no gateway or the answer is none */
export async function askVerb(
  connection: BrokerConnection,
  request: Partial<VerbRequest> & { readonly verb: string },
): Promise<VerbAnswer> {
  needGateway(connection);
  const whole: VerbRequest = {
    mirror: null,
    topics: null,
    all: false,
    dryRun: false,
    options: {},
    ...request,
  };
  const answer = await connection.call(
    isthmusApi,
    { json: JSON.stringify(whole) },
    { timeoutMs: ANSWER_TIMEOUT_MS },
  );
  if (answer.errorCode !== 0) {
    throw failed(
      `${errorName(answer.errorCode)}${answer.errorMessage === null ? '' : `: ${answer.errorMessage}`}`,
    );
  }
  try {
    return JSON.parse(answer.json ?? '') as VerbAnswer;
  } catch {
    throw failed(`${connection.peer} answered ${request.verb} with something that is not JSON`);
  }
}

export function faultText(fault: VerbFault): string {
  return fault.name === undefined ? fault.message : `${fault.message} (${fault.name})`;
}

/** A Java properties file: `key=value` lines, `#` comments. Only what needs no TLS or SASL is accepted. */
function readProperties(file: string): Record<string, string> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw usage(
      `--command-config ${file} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
    );
  }
  const properties: Record<string, string> = {};
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#') || line.startsWith('!')) continue;
    const match = /^([^=:\s]+)\s*[=:\s]\s*(.*)$/.exec(line);
    const key = match?.[1];
    if (key === undefined) throw usage(`${file}:${index + 1}: not a property; write key=value`);
    const value = match?.[2] ?? '';
    const verdict = judgeProperty(key, value);
    if (verdict.kind === 'later') throw failed(`${file}:${index + 1} ${verdict.message}`);
    properties[key] = value;
  }
  return properties;
}
