import { connect, type Socket } from 'node:net';
import { In, Out } from '../wire.ts';

/**
 * A client of bare frames, with the fake broker's codec: sends what a test says, byte for byte, and keeps the answers in
 * the order in which they came.
 */
export interface Answer {
  readonly correlationId: number;
  /** Behind the correlation id; the header's tags of flexible versions are the reader's to skip. */
  readonly input: In;
  readonly frame: Buffer;
}

export class WireClient {
  readonly socket: Socket;
  /** All answers, in order of arrival. */
  readonly answers: Answer[] = [];
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #waiting: {
    correlationId: number;
    resolve: (answer: Answer) => void;
    reject: (error: Error) => void;
  }[] = [];
  #chunks: Buffer[] = [];
  #buffered = 0;
  #needed = 4;
  #next = 1;

  static connect(port: number, host = '127.0.0.1'): Promise<WireClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true }, () => resolve(new WireClient(socket)));
      socket.once('error', reject);
    });
  }

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.once('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('the connection ended'));
    });
    socket.on('data', (chunk) => this.#data(chunk));
  }

  /** Request bytes with size; for tests that write them in pieces. */
  static encode(
    apiKey: number,
    version: number,
    flexible: boolean,
    correlationId: number,
    body: (out: Out) => void,
    clientId: string | null = 'test',
  ): Buffer {
    const header = new Out(false);
    header.i16(apiKey).i16(version).i32(correlationId).str(clientId);
    const out = new Out(flexible);
    out.raw(header.done()).tags();
    body(out);
    const frame = out.done();
    return Buffer.concat([new Out(false).i32(frame.length).done(), frame]);
  }

  get nextCorrelationId(): number {
    return this.#next;
  }

  /** Sends without waiting. @returns the correlation id */
  post(
    apiKey: number,
    version: number,
    flexible: boolean,
    body: (out: Out) => void,
    correlationId = this.#next++,
  ): number {
    this.socket.write(WireClient.encode(apiKey, version, flexible, correlationId, body));
    return correlationId;
  }

  /** Sends and resolves with the answer; `input` stands at the body. Rejects when the connection ends first. */
  async call(apiKey: number, version: number, flexible: boolean, body: (out: Out) => void): Promise<In> {
    const answer = await this.answerTo(this.post(apiKey, version, flexible, body));
    if (flexible && apiKey !== 18) {
      answer.input.flex = true;
      answer.input.tags();
    }
    answer.input.flex = flexible;
    return answer.input;
  }

  /** The first answer with this correlation id that was not handed out yet. */
  answerTo(correlationId: number): Promise<Answer> {
    const there = this.answers.find((answer) => answer.correlationId === correlationId);
    if (there !== undefined) return Promise.resolve(there);
    if (this.socket.destroyed) return Promise.reject(new Error('the connection ended'));
    return new Promise((resolve, reject) => this.#waiting.push({ correlationId, resolve, reject }));
  }

  end(): void {
    this.socket.destroy();
  }

  #data(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    // joined only when the frame is whole: large answers come in many chunks
    if (this.#buffered < this.#needed) return;
    const input = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    let at = 0;
    this.#needed = 4;
    while (input.length - at >= 4) {
      const size = input.readInt32BE(at);
      if (input.length - at - 4 < size) {
        this.#needed = 4 + size;
        break;
      }
      this.#take(Buffer.from(input.subarray(at + 4, at + 4 + size)));
      at += 4 + size;
    }
    const rest = input.subarray(at);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#buffered = rest.length;
  }

  #take(frame: Buffer): void {
    const input = new In(frame);
    const answer = { correlationId: input.i32(), input, frame };
    this.answers.push(answer);
    const waiting = this.#waiting.findIndex(({ correlationId }) => correlationId === answer.correlationId);
    if (waiting >= 0) this.#waiting.splice(waiting, 1)[0]?.resolve(answer);
  }
}
