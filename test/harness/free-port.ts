import { createServer } from 'node:net';

const SLOTS = 8;
const COUNT = 2_500;
/** Workers of one test run are numbered from 1, what starts them has none and is 0. */
const FIRST = 10_000 + COUNT * (Number(process.env['VITEST_POOL_ID'] ?? 0) % SLOTS);
const given = new Set<number>();

/**
 * A port of 127.0.0.1 on which nothing listens now, never given twice by this process, nor by two workers of one test
 * run at a time: between the look and the start of a broker lie seconds in which it would be given away again. Taken
 * from below the range that the system hands to outgoing connections: those would now and then sit on the port before
 * its server starts.
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
