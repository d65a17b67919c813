import { decodeRequest, encodeResponse } from '../../../../protocol/frame/messages.ts';
import { apiByKey } from '../../../../protocol/schema/index.ts';
import { isthmusApi } from '../../../../protocol/schema/32001-isthmus.ts';
import type { Io } from '../../../../src/cli/io.ts';
import { type ProgramParts, runProgram } from '../../../../src/cli/program.ts';
import { type BrokerStub, brokerStub } from '../net/broker-stub.ts';

/** A gateway that answers the private key from a function, and any other key from `rpc`. */
export interface FakeGateway extends BrokerStub {
  readonly asked: Record<string, unknown>[];
  readonly address: string;
}

export type Answer = (request: Record<string, unknown>) => object;

export async function fakeGateway(
  answer: Answer,
  rpc: Readonly<Record<number, (body: unknown) => object>> = {},
): Promise<FakeGateway> {
  const asked: Record<string, unknown>[] = [];
  const keys = [18, isthmusApi.key, ...Object.keys(rpc).map(Number)];
  const stub = await brokerStub({
    versions: keys.map((apiKey) => ({ apiKey, minVersion: 0, maxVersion: apiKey === 18 ? 3 : 0 })),
    onRequest(request, { peer }) {
      const api = apiByKey(request.apiKey);
      if (request.apiKey === 18 || api === undefined) return false;
      const body: unknown = decodeRequest(api, request.apiVersion, request.frame, request.bodyOffset);
      let response: object;
      if (request.apiKey === isthmusApi.key) {
        const verb = JSON.parse((body as { json: string }).json) as Record<string, unknown>;
        asked.push(verb);
        response = { json: JSON.stringify(answer(verb)) };
      } else {
        response = rpc[request.apiKey]?.(body) ?? {};
      }
      peer.write([encodeResponse(api, request.apiVersion, request.correlationId, response)]);
      return true;
    },
  });
  return Object.assign(stub, { asked, address: `127.0.0.1:${stub.port}` });
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Terminal {
  readonly terminal?: boolean;
  readonly replies?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly parts?: Partial<ProgramParts>;
  readonly interrupted?: AbortSignal;
}

/** One command line, as bin.ts would run it. */
export async function run(argv: readonly string[], more: Terminal = {}): Promise<Ran> {
  let out = '';
  let err = '';
  const replies = [...(more.replies ?? [])];
  const io: Io = {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    drained: () => undefined,
    env: more.env ?? {},
    outIsTerminal: more.terminal ?? false,
    errIsTerminal: more.terminal ?? false,
    ask: async () => replies.shift() ?? null,
    interrupted: more.interrupted ?? new AbortController().signal,
  };
  const parts: ProgramParts = {
    startRun: () => Promise.reject(new Error('nothing to run')),
    decodeState: () => Promise.resolve(null),
    stateReaders: {
      findLoops: async () => ({ loops: new Map(), notes: [] }),
      mirroredTopics: async () => [],
    },
    ...more.parts,
  };
  const code = await runProgram(argv, io, parts);
  return { code, out, err };
}

/** A describe row with the columns of KIP-1279. */
export function row(partition: number, state: string, more: object = {}): Record<string, unknown> {
  return {
    mirror: 'east-to-west',
    topic: 'orders',
    partition,
    sourceOffset: 100,
    destinationOffset: 90,
    lag: 10,
    state,
    retryAttempt: 0,
    errorMessage: null,
    ...more,
  };
}
