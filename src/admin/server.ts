import { createHash, timingSafeEqual } from 'node:crypto';
import { type FastifyInstance, fastify } from 'fastify';

/**
 * HTTP for machines that watch Isthmus: `/healthz` (the process lives), `/readyz` (all ports are bound, every
 * destination was reached and its state read), `/metrics` (Prometheus). Nothing here changes anything. With a token,
 * `/metrics` asks for it; the other two hold nothing worth hiding and stay open for probes.
 */
export interface AdminOptions {
  readonly host: string;
  /** 0 = any free port (tests). */
  readonly port: number;
  readonly token: string | null;
  readonly readiness: () => Readiness;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

export interface Readiness {
  readonly ready: boolean;
  /** What is still missing, one sentence each; empty when ready. */
  readonly waitingFor: readonly string[];
}

export interface AdminServer {
  readonly port: number;
  close(): Promise<void>;
}

/** @throws Error naming the address when it can't be bound */
export async function startAdmin(options: AdminOptions): Promise<AdminServer> {
  const app = buildAdmin(options);
  try {
    await app.listen({ host: options.host, port: options.port });
  } catch (error) {
    await app.close();
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`admin ${options.host}:${options.port} can't be bound: ${why}`, { cause: error });
  }
  const address = app.server.address();
  return {
    port: address !== null && typeof address === 'object' ? address.port : options.port,
    close: () => app.close(),
  };
}

export function buildAdmin(options: Omit<AdminOptions, 'host' | 'port'>): FastifyInstance {
  const app = fastify({ logger: false, forceCloseConnections: true, bodyLimit: 1024 });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const { ready, waitingFor } = options.readiness();
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', waitingFor });
  });
  app.get('/metrics', async (request, reply) => {
    if (options.token !== null && !isToken(request.headers.authorization, options.token)) {
      return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'a bearer token is needed' });
    }
    const { contentType, text } = await options.metrics();
    return reply.header('content-type', contentType).send(text);
  });
  return app;
}

// both sides are hashed so that lengths and contents take the same time to compare
function isToken(header: string | undefined, token: string): boolean {
  const given = header?.startsWith('Bearer ') === true ? header.slice('Bearer '.length) : '';
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
