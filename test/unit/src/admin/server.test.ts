import { afterEach, describe, expect, test } from 'vitest';
import { buildAdmin, type Readiness, startAdmin } from '../../../../src/admin/server.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function build(readiness: Readiness, token: string | null = null) {
  const app = buildAdmin({
    token,
    readiness: () => readiness,
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'isthmus_up 1\n' }),
  });
  closing.push(() => app.close());
  return app;
}

describe('admin HTTP', () => {
  test('healthz answers while the process lives', async () => {
    const answer = await build({ ready: false, waitingFor: ['x'] }).inject('/healthz');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ status: 'ok' });
  });

  test('readyz says what is missing', async () => {
    const waiting = await build({ ready: false, waitingFor: ['cluster west was not reached yet'] }).inject(
      '/readyz',
    );
    expect(waiting.statusCode).toBe(503);
    expect(waiting.json()).toEqual({ status: 'not ready', waitingFor: ['cluster west was not reached yet'] });
    const ready = await build({ ready: true, waitingFor: [] }).inject('/readyz');
    expect(ready.statusCode).toBe(200);
  });

  test('metrics are Prometheus text', async () => {
    const answer = await build({ ready: true, waitingFor: [] }).inject('/metrics');
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(answer.body).toBe('isthmus_up 1\n');
  });

  test.each([
    [undefined],
    ['Bearer wrong-token-wrong-token'],
    ['Basic right-token-right-token'],
    ['Bearer '],
  ])('with a token, %s gets no metrics', async (authorization) => {
    const app = build({ ready: true, waitingFor: [] }, 'right-token-right-token');
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await app.inject({ url: '/metrics', headers });
    expect(answer.statusCode).toBe(401);
    expect(answer.body).not.toContain('isthmus_up');
    expect((await app.inject('/healthz')).statusCode).toBe(200);
  });

  test('with the token, it does', async () => {
    const app = build({ ready: true, waitingFor: [] }, 'right-token-right-token');
    const answer = await app.inject({
      url: '/metrics',
      headers: { authorization: 'Bearer right-token-right-token' },
    });
    expect(answer.statusCode).toBe(200);
  });

  test('nothing else is there, and nothing can be posted', async () => {
    const app = build({ ready: true, waitingFor: [] });
    expect((await app.inject('/../etc/passwd')).statusCode).toBe(404);
    expect((await app.inject({ method: 'POST', url: '/metrics' })).statusCode).toBe(404);
  });

  test('a taken port is named', async () => {
    const options = {
      host: '127.0.0.1',
      token: null,
      readiness: () => ({ ready: true, waitingFor: [] }),
      metrics: async () => ({ contentType: 'text/plain', text: '' }),
    };
    const first = await startAdmin({ ...options, port: 0 });
    closing.push(() => first.close());
    await expect(startAdmin({ ...options, port: first.port })).rejects.toThrow(
      new RegExp(`^admin 127\\.0\\.0\\.1:${first.port} can't be bound: .*EADDRINUSE`),
    );
  });
});
