import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const script = fileURLToPath(new URL('../../../scripts/health.mjs', import.meta.url));

function health(admin: string): Promise<{ code: number; err: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, ISTHMUS_ADMIN: admin };
    execFile(process.execPath, [script], { env, timeout: 20_000 }, (error, _out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, err }),
    );
  });
}

async function admin(status: number, body: string): Promise<string> {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/readyz' ? status : 404;
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a container is healthy when /readyz says so, and tells what is waited for when not', async () => {
  expect(await health(await admin(200, '{}'))).toEqual({ code: 0, err: '' });
  const waiting = await health(await admin(503, 'waiting for west'));
  expect(waiting).toMatchObject({
    code: 1,
    err: expect.stringMatching(/readyz answers 503: waiting for west$/m),
  });
});

// port 2: privileged, so no test takes it, and none of those that fetch refuses
test('a file without an admin listener is told as such', async () => {
  const { code, err } = await health('http://127.0.0.1:2');
  expect(code).toBe(1);
  expect(err).toMatch(/ECONNREFUSED.*does the YAML have `admin: \{ bind: … \}`/);
});
