import { formatHostPort, type HostPort } from '../config/address.ts';
import { ConnectionClosedError } from './close-cause.ts';
import { type BrokerConnectOptions, BrokerConnection } from './connection.ts';
import { textOf } from './error-text.ts';

/** None of the addresses led to a broker; the text names each with its cause. */
export class ClusterUnreachableError extends Error {
  readonly cluster: string;
  constructor(cluster: string, faults: readonly string[]) {
    super(unreachable(cluster, faults));
    this.name = 'ClusterUnreachableError';
    this.cluster = cluster;
  }
}

/** Each address once: an address that stands for the cluster's name is not named again before its cause. */
function unreachable(cluster: string, faults: readonly string[]): string {
  const [only] = faults;
  if (only === undefined) return `cluster ${cluster} can't be reached: no address is known`;
  if (faults.length === 1 && only.startsWith(`${cluster}: `)) {
    return `${cluster} can't be reached: ${only.slice(cluster.length + 2)}`;
  }
  return `cluster ${cluster} can't be reached: ${faults.join('; ')}`;
}

function causeOf(error: unknown, address: string): string {
  const isEnd = error instanceof ConnectionClosedError;
  const text = isEnd ? error.detail : textOf(error);
  const detail = text.endsWith(` ${address}`) ? text.slice(0, -address.length - 1) : text;
  if (!isEnd) return detail;
  return detail === '' ? error.cause : `${error.cause}: ${detail}`;
}

/** A silent address costs this much, not the whole connect time-out (case P18). */
const STAGGER_MS = 250;

/**
 * Tries the addresses in order, the next one beginning when the one before has failed or been silent for 250 ms;
 * the first that stands wins, the others are given up.
 */
export async function connectToAny(
  cluster: string,
  addresses: readonly HostPort[],
  options: Omit<BrokerConnectOptions, 'host' | 'port' | 'signal'>,
): Promise<{ connection: BrokerConnection; address: HostPort }> {
  const giveUp = new AbortController();
  const faults: string[] = [];
  let winner: { connection: BrokerConnection; address: HostPort } | null = null;
  let wake: () => void = () => undefined;

  const attempt = async (address: HostPort): Promise<void> => {
    try {
      const connection = await BrokerConnection.connect({ ...options, ...address, signal: giveUp.signal });
      if (winner === null) winner = { connection, address };
      else connection.end('local-close', 'another address was faster');
    } catch (error) {
      const shown = formatHostPort(address);
      faults.push(`${shown}: ${causeOf(error, shown)}`);
    }
    wake();
  };

  let running = 0;
  for (const address of addresses) {
    running += 1;
    void attempt(address).finally(() => {
      running -= 1;
      wake();
    });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, STAGGER_MS);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    if (winner !== null) break;
  }
  while (winner === null && running > 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  giveUp.abort();
  if (winner === null) throw new ClusterUnreachableError(cluster, faults);
  return winner;
}
