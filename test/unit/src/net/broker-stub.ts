import { createServer, type Server } from 'node:net';
import { encodeResponse } from '../../../../protocol/frame/messages.ts';
import { parseRequestHeader } from '../../../../protocol/frame/headers.ts';
import { apiVersionsApi } from '../../../../protocol/schema/18-api-versions.ts';
import { FramedSocket } from '../../../../src/net/framed-socket.ts';

/** A scripted broker for the tests of src/net: it answers ApiVersions and hands everything else to the script. */
export interface StubRequest {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly frame: Buffer;
  readonly bodyOffset: number;
}

export interface StubConnection {
  readonly peer: FramedSocket;
  readonly requests: StubRequest[];
}

export interface BrokerStub {
  readonly port: number;
  readonly connections: StubConnection[];
  close(): Promise<void>;
}

export interface StubScript {
  versions?: readonly { apiKey: number; minVersion: number; maxVersion: number }[];
  /** Highest ApiVersions version known; above it the answer is v0 with error 35. */
  apiVersionsMax?: number;
  /** Takes ApiVersions too when it returns true. */
  onRequest?(request: StubRequest, connection: StubConnection, stub: BrokerStub): boolean | undefined;
  host?: string;
}

export async function brokerStub(script: StubScript = {}): Promise<BrokerStub> {
  const connections: StubConnection[] = [];
  const known = script.versions ?? [
    { apiKey: 3, minVersion: 0, maxVersion: 13 },
    { apiKey: 18, minVersion: 0, maxVersion: 4 },
  ];
  const server: Server = createServer((socket) => {
    const connection: StubConnection = {
      requests: [],
      peer: FramedSocket.accept(
        socket,
        { frameCapBytes: 1 << 24, smallestFrame: 8 },
        {
          onFrame(frame) {
            const header = parseRequestHeader(frame);
            const request: StubRequest = { ...header, frame };
            connection.requests.push(request);
            if (script.onRequest?.(request, connection, stub) === true) return;
            if (header.apiKey !== 18) return;
            const max = script.apiVersionsMax ?? 4;
            const body =
              header.apiVersion > max
                ? { errorCode: 35, apiKeys: [{ apiKey: 18, minVersion: 0, maxVersion: max }] }
                : { errorCode: 0, apiKeys: known };
            const version = header.apiVersion > max ? 0 : header.apiVersion;
            connection.peer.write([encodeResponse(apiVersionsApi, version, header.correlationId, body)]);
          },
          onClosed: () => undefined,
        },
      ),
    };
    connections.push(connection);
  });
  await new Promise<void>((resolve) => server.listen(0, script.host ?? '127.0.0.1', resolve));
  const stub: BrokerStub = {
    port: (server.address() as { port: number }).port,
    connections,
    async close() {
      for (const { peer } of connections) peer.end('shutdown');
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return stub;
}

/** A response frame without a body of meaning. */
export function plainAnswer(correlationId: number, body: Uint8Array = Buffer.alloc(0)): Uint8Array[] {
  const head = Buffer.alloc(8);
  head.writeInt32BE(4 + body.length, 0);
  head.writeInt32BE(correlationId, 4);
  return [Buffer.concat([head, body])];
}
