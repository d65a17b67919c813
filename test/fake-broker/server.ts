import { createServer, type Server, type Socket } from 'node:net';
import type { ActiveControl, Controls, RequestInfo } from './controls.ts';
import type { Handler } from './registry.ts';
import type { ClusterState } from './state.ts';
import { In, Out } from './wire.ts';

const API_VERSIONS = 18;

export interface FakeNodeOptions {
  readonly node: number;
  readonly state: ClusterState;
  readonly controls: Controls;
  readonly handlers: ReadonlyMap<number, Handler>;
  readonly seen: (request: RequestInfo) => void;
  readonly nextConnection: () => number;
}

/** One node: accepts connections and works on their requests one after the other, as a broker does. */
export class FakeNodeServer {
  readonly #options: FakeNodeOptions;
  readonly #sockets = new Map<Socket, number>();
  #server: Server | null = null;

  constructor(options: FakeNodeOptions) {
    this.#options = options;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  listen(port: number): Promise<number> {
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: '127.0.0.1', port }, () => {
        const address = server.address();
        resolve(address !== null && typeof address === 'object' ? address.port : 0);
      });
    });
  }

  close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    for (const socket of this.#sockets.keys()) socket.resetAndDestroy();
    return new Promise((resolve) => {
      if (server === null) resolve();
      else server.close(() => resolve());
    });
  }

  /** @returns false when the connection is not one of this node */
  sendRaw(connection: number, frame: Buffer): boolean {
    for (const [socket, number] of this.#sockets) {
      if (number !== connection) continue;
      const size = Buffer.alloc(4);
      size.writeInt32BE(frame.length);
      socket.write(Buffer.concat([size, frame]));
      return true;
    }
    return false;
  }

  #accept(socket: Socket): void {
    const connection = this.#options.nextConnection();
    this.#sockets.set(socket, connection);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    let chunks: Buffer[] = [];
    let buffered = 0;
    let needed = 4;
    let work = Promise.resolve();
    let queued = 0;
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      buffered += chunk.length;
      if (buffered < needed) return;
      const input = chunks.length === 1 ? chunk : Buffer.concat(chunks);
      let at = 0;
      needed = 4;
      while (input.length - at >= 4) {
        const size = input.readInt32BE(at);
        if (input.length - at - 4 < size) {
          needed = 4 + size;
          break;
        }
        const frame = Buffer.from(input.subarray(at + 4, at + 4 + size));
        at += 4 + size;
        queued += 1;
        work = work
          .then(() => this.#serve(socket, connection, frame))
          .catch((error: unknown) => {
            socket.destroy(error instanceof Error ? error : undefined);
          })
          .finally(() => {
            queued -= 1;
            if (queued === 0 && !socket.destroyed) socket.resume();
          });
      }
      const rest = input.subarray(at);
      chunks = rest.length === 0 ? [] : [rest];
      buffered = rest.length;
      if (queued > 1_000) socket.pause();
    });
  }

  async #serve(socket: Socket, connection: number, frame: Buffer): Promise<void> {
    if (socket.destroyed) return;
    const input = new In(frame);
    const apiKey = input.i16();
    const apiVersion = input.i16();
    const correlationId = input.i32();
    const request: RequestInfo = {
      node: this.#options.node,
      apiKey,
      apiVersion,
      correlationId,
      clientId: input.nstr(),
      connection,
      frame,
    };
    this.#options.seen(request);
    const control = this.#options.controls.take(request);
    if (!(await this.#act(control, 'before', socket))) return;

    const handler = this.#options.handlers.get(apiKey);
    const range = this.#options.state.versions.get(apiKey);
    if (handler === undefined || range === undefined) {
      socket.destroy();
      return;
    }
    if (apiVersion < range.min || apiVersion > range.max) {
      // a broker closes, except for ApiVersions: error 35 in version 0 form with that API's own range
      if (apiKey !== API_VERSIONS) {
        socket.destroy();
        return;
      }
      const out = new Out(false);
      out
        .i32(correlationId)
        .i16(35)
        .list([range], ({ min, max }) => out.i16(API_VERSIONS).i16(min).i16(max));
      this.#send(socket, out);
      return;
    }
    input.flex = apiVersion >= handler.flexibleFrom;
    input.tags();
    const output = new Out(input.flex);
    output.i32(correlationId);
    if (apiKey !== API_VERSIONS) output.tags();
    const action = control?.action;
    const reply = await handler.handle(input, output, {
      state: this.#options.state,
      request,
      version: apiVersion,
      fail: action?.kind === 'fail' ? action.code : undefined,
      closed: () => socket.destroyed,
    });
    if (!(await this.#act(control, 'after', socket))) return;
    if (reply.close === true) {
      socket.end();
      return;
    }
    if (reply.body !== null && action?.kind !== 'silence') this.#send(socket, reply.body);
  }

  /** @returns false when the connection was cut */
  async #act(control: ActiveControl | undefined, now: 'before' | 'after', socket: Socket): Promise<boolean> {
    const action = control?.action;
    if (action === undefined || action.kind === 'fail' || action.kind === 'silence') return true;
    if ((action.when ?? 'before') !== now) return true;
    switch (action.kind) {
      case 'delay':
        await new Promise((resolve) => setTimeout(resolve, action.ms));
        break;
      case 'hold':
        await control?.released;
        break;
      case 'cut':
        socket.resetAndDestroy();
        return false;
    }
    return true;
  }

  #send(socket: Socket, out: Out): void {
    const body = out.done();
    const size = Buffer.alloc(4);
    size.writeInt32BE(body.length);
    socket.write(Buffer.concat([size, body]));
  }
}
