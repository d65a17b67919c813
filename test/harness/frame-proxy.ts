import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { FrameCutter } from './frame-cutter.ts';
import { FrameLane, type LaneEntry } from './frame-lane.ts';

/** One request as it passed the proxy. `frame` is header and body, without the size before them. */
export interface SeenRequest {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly frame: Buffer;
  /** Index of the target that it went to. */
  readonly target: number;
}

/** A request that the broker has in full and whose reply the client does not get. */
export interface HeldReply {
  readonly request: SeenRequest;
  /** Settles when the broker's reply has reached the proxy; null when the connection ended before. */
  readonly reply: Promise<Buffer | null>;
  /** Hands on the reply, and all that waits behind it on this connection. */
  release(): void;
  /** Closes both sides; the reply is never delivered. */
  cut(): void;
}

/** A request that has not gone on to the broker; what the client sent behind it waits as well. */
export interface HeldRequest {
  readonly request: SeenRequest;
  /** Settles when the bytes are on their way to the broker, read by it or not. */
  forward(): Promise<void>;
  /** Hands on the first `bytes` of the request, size field included, then closes both sides. */
  cut(bytes?: number): void;
}

export interface Wanted {
  /** Which request of that key; the next one when absent. */
  readonly where?: (request: SeenRequest) => boolean;
  /** The promise rejects after so long, and nothing is held any more. Default 30,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface ProxyTarget {
  readonly host: string;
  readonly port: number;
}

interface Rule {
  readonly apiKey: number;
  readonly where: (request: SeenRequest) => boolean;
  readonly take:
    | { readonly what: 'reply'; readonly held: (held: HeldReply) => void }
    | { readonly what: 'request'; readonly held: (held: HeldRequest) => void };
}

const HOST = '127.0.0.1';

/**
 * A TCP proxy that knows where Kafka's frames begin and end: one port for each target broker. It can keep back a
 * request or a reply, say when a request is forwarded and unanswered, cut a connection there, and delay everything.
 * It reads the first eight bytes of a request and the first four of a reply, with bytes of its own, not the product's.
 */
export class FrameProxy {
  /** Every frame waits so long before it goes on, in either direction. */
  requestDelayMs = 0;
  replyDelayMs = 0;
  /** Requests seen so far, by API key. */
  readonly seen = new Map<number, number>();
  readonly #servers: Server[] = [];
  readonly #links = new Set<ProxyLink>();
  readonly #rules: Rule[] = [];

  /** Listens on free ports, or on the given ones, one for each target in their order. */
  static async listen(targets: readonly ProxyTarget[], ports: readonly number[] = []): Promise<FrameProxy> {
    const proxy = new FrameProxy();
    for (const [index, target] of targets.entries()) {
      const server = createServer({ noDelay: true }, (client) => {
        proxy.#links.add(new ProxyLink(client, target, index, proxy.#watch));
      });
      proxy.#servers.push(server);
      server.listen(ports[index] ?? 0, HOST);
      await once(server, 'listening');
    }
    return proxy;
  }

  get ports(): readonly number[] {
    return this.#servers.map((server) => (server.address() as AddressInfo).port);
  }

  /** As for `bootstrap.servers`. */
  get bootstrap(): string {
    return this.ports.map((port) => `${HOST}:${port}`).join(',');
  }

  get connections(): number {
    return this.#links.size;
  }

  /** Settles as soon as the next such request is forwarded in full; its reply is kept back from now on. */
  holdReply(apiKey: number, wanted: Wanted = {}): Promise<HeldReply> {
    return this.#arm(`a request of key ${apiKey} was forwarded`, wanted, (held) => ({
      apiKey,
      where: wanted.where ?? (() => true),
      take: { what: 'reply', held },
    }));
  }

  /** Settles when the next such request has come in whole; nothing of it has gone on. */
  holdRequest(apiKey: number, wanted: Wanted = {}): Promise<HeldRequest> {
    return this.#arm(`a request of key ${apiKey} came`, wanted, (held) => ({
      apiKey,
      where: wanted.where ?? (() => true),
      take: { what: 'request', held },
    }));
  }

  /** Closes every connection that stands, as a network that breaks; new ones are served. */
  cutAll(): void {
    for (const link of this.#links) link.cut();
  }

  async close(): Promise<void> {
    this.cutAll();
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #arm<Held>(what: string, wanted: Wanted, ruleOf: (held: (held: Held) => void) => Rule): Promise<Held> {
    const { timeoutMs = 30_000, signal } = wanted;
    return new Promise((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        const at = this.#rules.indexOf(rule);
        if (at >= 0) this.#rules.splice(at, 1);
      };
      const rule = ruleOf((held) => {
        over();
        resolve(held);
      });
      const giveUp = (error: Error): void => {
        over();
        reject(error);
      };
      const onAbort = (): void => giveUp(new Error(`given up waiting until ${what}`));
      const timer = setTimeout(
        () => giveUp(new Error(`waited ${timeoutMs} ms in vain until ${what}`)),
        timeoutMs,
      );
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#rules.push(rule);
      if (signal?.aborted === true) onAbort();
    });
  }

  readonly #watch: Watch = {
    requestDelayMs: () => this.requestDelayMs,
    replyDelayMs: () => this.replyDelayMs,
    ruleFor: (request) => {
      this.seen.set(request.apiKey, (this.seen.get(request.apiKey) ?? 0) + 1);
      const at = this.#rules.findIndex((rule) => rule.apiKey === request.apiKey && rule.where(request));
      return at < 0 ? undefined : this.#rules.splice(at, 1)[0];
    },
    closed: (link) => this.#links.delete(link),
  };
}

interface Watch {
  requestDelayMs(): number;
  replyDelayMs(): number;
  /** The rule that this request meets; it is spent by that. */
  ruleFor(request: SeenRequest): Rule | undefined;
  closed(link: ProxyLink): void;
}

interface Expected {
  readonly correlationId: number;
  readonly hold: ReplyHold | undefined;
}

interface ReplyHold {
  released: boolean;
  arrived(frame: Buffer | null): void;
}

/** One client connection and the one to the broker that belongs to it. */
class ProxyLink {
  readonly #client: Socket;
  readonly #broker: Socket;
  readonly #target: number;
  readonly #watch: Watch;
  readonly #toBroker: FrameLane;
  readonly #toClient: FrameLane;
  /** Requests on their way to the broker, in order. Those without a reply are skipped by their correlation id. */
  readonly #expected: Expected[] = [];
  #over = false;

  constructor(client: Socket, target: ProxyTarget, index: number, watch: Watch) {
    this.#client = client;
    this.#target = index;
    this.#watch = watch;
    this.#broker = connect({ host: target.host, port: target.port, noDelay: true });
    this.#toBroker = new FrameLane(client, this.#broker);
    this.#toClient = new FrameLane(this.#broker, client);
    const requests = new FrameCutter(8, (frame) => this.#onRequest(frame));
    const replies = new FrameCutter(4, (frame) => this.#onReply(frame));
    for (const [socket, cutter] of [
      [client, requests],
      [this.#broker, replies],
    ] as const) {
      socket.on('data', (chunk) => {
        if (!cutter.take(chunk)) this.cut();
      });
      socket.on('error', () => this.cut());
      socket.on('close', () => this.#end());
    }
  }

  /** Closes both sides at once. */
  cut(): void {
    this.#client.destroy();
    this.#broker.destroy();
    this.#end();
  }

  #onRequest(sized: Buffer): void {
    const request: SeenRequest = {
      apiKey: sized.readInt16BE(4),
      apiVersion: sized.readInt16BE(6),
      correlationId: sized.readInt32BE(8),
      frame: sized.subarray(4),
      target: this.#target,
    };
    const rule = this.#watch.ruleFor(request);
    const entry: LaneEntry = {
      bytes: sized,
      due: performance.now() + this.#watch.requestDelayMs(),
      held: false,
    };
    let hold: ReplyHold | undefined;
    if (rule?.take.what === 'reply') {
      const { held } = rule.take;
      const { promise, resolve } = Promise.withResolvers<Buffer | null>();
      const kept: ReplyHold = { released: false, arrived: resolve };
      hold = kept;
      const release = (): void => {
        kept.released = true;
        this.#toClient.pump();
      };
      entry.written = () => held({ request, reply: promise, release, cut: () => this.cut() });
    } else if (rule?.take.what === 'request') {
      entry.held = true;
      rule.take.held({
        request,
        forward: () =>
          new Promise((resolve) => {
            entry.written = resolve;
            entry.held = false;
            this.#toBroker.pump();
          }),
        cut: (bytes = 0) => {
          if (bytes === 0) this.cut();
          else this.#broker.write(sized.subarray(0, bytes), () => this.cut());
        },
      });
    }
    this.#expected.push({ correlationId: request.correlationId, hold });
    this.#toBroker.add(entry);
  }

  #onReply(sized: Buffer): void {
    const correlationId = sized.readInt32BE(4);
    let expected = this.#expected.shift();
    while (expected !== undefined && expected.correlationId !== correlationId)
      expected = this.#expected.shift();
    const hold = expected?.hold;
    hold?.arrived(sized.subarray(4));
    this.#toClient.add({
      bytes: sized,
      due: performance.now() + this.#watch.replyDelayMs(),
      get held() {
        return hold !== undefined && !hold.released;
      },
    });
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    for (const { hold } of this.#expected) hold?.arrived(null);
    this.#toBroker.close();
    this.#toClient.close();
    // The bytes that are on their way still go out: what a process wrote before it died reaches the broker.
    this.#broker.end();
    this.#client.end();
    this.#watch.closed(this);
  }
}
