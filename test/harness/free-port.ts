import { createServer } from 'node:net';

const FIRST = 10_000;
const COUNT = 20_000;
const given = new Set<number>();

/**
 * A port of 127.0.0.1 on which nothing listens now, never given twice by this process. Taken from below the range that
 * the system hands to outgoing connections: those would now and then sit on the port before its server starts.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error(`no free port among ${FIRST}-${FIRST + COUNT - 1}`);
}

export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

/** A run of `count` neighbouring free ports, as a gateway's `brokerPorts` range needs; gives the first. */
export async function freePortRange(count: number): Promise<number> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const first = FIRST + Math.floor(Math.random() * (COUNT - count));
    const ports = Array.from({ length: count }, (_, i) => first + i);
    const free = await Promise.all(ports.map(async (port) => !given.has(port) && (await isFree(port))));
    if (!free.every(Boolean)) continue;
    for (const port of ports) given.add(port);
    return first;
  }
  throw new Error(`no run of ${count} free ports`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
