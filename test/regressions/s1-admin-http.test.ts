import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { buildAdmin } from '../../src/admin/server.ts';

/**
 * Case S1: an admin port that is open to anyone. Ours is on loopback unless it has a token (`test/unit/src/config/load`
 * shows that), has nothing that changes anything, and what it tells without a token holds no secret.
 */
describe('the admin port', () => {
  let app: ReturnType<typeof buildAdmin>;
  beforeEach(() => {
    app = buildAdmin({
      token: 'the-token-of-the-file',
      readiness: () => ({ ready: true, waitingFor: [] }),
      metrics: async () => ({ contentType: 'text/plain', text: 'isthmus_up 1\n' }),
    });
  });
  afterEach(() => app.close());

  const methods = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;
  const paths = ['/healthz', '/readyz', '/metrics', '/', '/api/v1/mirrors', '/api/v1/mirrors/m/failover'];

  test.each(methods)('nothing takes a %s', async (method) => {
    for (const url of paths) expect((await app.inject({ method, url })).statusCode, url).toBe(404);
  });

  test.each([
    '/../etc/passwd',
    '/healthz/../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/..%2f..%2fetc%2fpasswd',
    '/metrics/..',
    '//etc/passwd',
  ])('%s leads nowhere', async (url) => {
    const answer = await app.inject({ url });
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect(answer.body).not.toMatch(/root:|isthmus_up/);
  });

  test('a page of another site may read nothing', async () => {
    for (const url of ['/healthz', '/readyz', '/metrics']) {
      const headers = { origin: 'https://elsewhere.example', authorization: 'Bearer the-token-of-the-file' };
      const answer = await app.inject({ url, headers });
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      const asked = { ...headers, 'access-control-request-method': 'GET' };
      expect((await app.inject({ method: 'OPTIONS', url, headers: asked })).statusCode).toBe(404);
    }
  });

  test('what needs no token holds no secret', async () => {
    for (const url of ['/healthz', '/readyz', '/metrics', '/nowhere']) {
      expect((await app.inject({ url })).body, url).not.toContain('the-token-of-the-file');
    }
  });
});
