import type { RequestHeader } from '../../protocol/frame/headers.ts';
import type { CloseCause } from '../net/close-cause.ts';
import { ClusterIdMismatchError } from '../net/cluster.ts';
import type { FramedHandlers, FramedSocket } from '../net/framed-socket.ts';
import { WAITING_MARK } from './config.ts';
import { FrameJudge } from './frame-judge.ts';
import { Gate } from './gate.ts';
import { OrderQueue, type Slot } from './order-queue.ts';
import type { CallerRights } from './ports.ts';
import { rightsOver } from './rights.ts';
import type { ApiRule, CloseReason, ReplyHandler, ResponseChunks, Verdict } from './rule.ts';
import type { BrokerHold, ClientHold, SessionCounts, SessionOptions } from './session-options.ts';
import { withSize } from './splice.ts';
import type { BrokerAddress, Upstream } from './upstream.ts';
import { Waits } from './waits.ts';
import { textOf } from '../net/error-text.ts';

/** A lost client's upstream is kept so long for an answer that must be heard. */
const HEARING_MS = 60_000;
const NOT_JUDGED: CloseReason = {
  cause: 'request-refused',
  detail: 'a request could not be judged for a minute',
};

/**
 * One client connection, the client's side of it. Frames come in, each is looked up in the decode table and forwarded,
 * rewritten, answered or refused; answers leave through the order queue.
 *
 *     connecting --> serving --> closing --> gone
 *                                   \--> hearing --> gone     an answer is still due whose outcome matters (role mirror)
 *
 * Reading from the client stops while the upstream connects, while a request is judged that has to wait, while a verb
 * runs, while either side does not take what was written, and above `maxInFlight` unanswered requests or a mebibyte of
 * answers of ours that wait for their turn. Reading from the broker stops while the client does not take its answers
 * and while an answer is rewritten that needs a lookup.
 */
export class ClientSession implements FramedHandlers {
  readonly counts: SessionCounts = { requests: 0, forwarded: 0, answeredHere: 0 };
  readonly #client: FramedSocket;
  readonly #judge: FrameJudge;
  readonly #options: SessionOptions;
  readonly #order: OrderQueue;
  readonly #clientGate: Gate<ClientHold>;
  #brokerGate: Gate<BrokerHold> | null = null;
  #upstream: Upstream | null = null;
  #state: 'connecting' | 'serving' | 'closing' | 'hearing' | 'gone' = 'connecting';
  #served = false;
  #clientEnd: { cause: CloseCause; detail: string } | null = null;
  readonly #waits: Waits;
  readonly #rights: CallerRights;
  #timer: NodeJS.Timeout | null = null;

  constructor(client: FramedSocket, options: SessionOptions) {
    this.#client = client;
    this.#options = options;
    this.#judge = new FrameJudge(options.table, options.services, client.remoteAddress ?? 'unknown');
    this.#clientGate = new Gate<ClientHold>(client);
    this.#waits = new Waits(this.#clientGate, {
      alive: () => this.#state === 'serving',
      givenUp: () => this.#closeInTurn(NOT_JUDGED),
      failed: (detail) => this.#closeInTurn({ cause: 'shutdown', detail }),
      broke: (why) => this.#client.end('internal-error', why),
    });
    this.#rights = rightsOver(
      (chunks, awaiting) => this.#send(chunks, awaiting),
      () => this.#judge.clientId,
    );
    this.#order = new OrderQueue({
      write: (chunks) => this.#toClient(chunks),
      close: ({ cause, detail }) => this.#client.endAfterWrites(cause, detail),
      shrunk: () => {
        const { size, bytesWaiting } = this.#order;
        if (size <= options.limits.maxInFlight / 2 && bytesWaiting <= WAITING_MARK) {
          this.#clientGate.lift('in-flight');
        }
      },
    });
  }

  /** What holds back reading from the client now, for tests and snapshots. */
  get holds(): readonly string[] {
    return [
      ...this.#clientGate.reasons.map((reason) => `client:${reason}`),
      ...(this.#brokerGate?.reasons ?? []).map((reason) => `broker:${reason}`),
    ];
  }

  /** Bytes held for this connection now, both ways. */
  get bytesHeld(): number {
    const { bytesBuffered, bytesToWrite } = this.#client;
    return bytesBuffered + bytesToWrite + this.#order.bytesWaiting + (this.#upstream?.bytesHeld ?? 0);
  }

  get state(): string {
    return this.#state;
  }

  /** Where the upstream leads; null while there is none, or while an answer is due that must be heard. */
  get leadsTo(): BrokerAddress | null {
    const upstream = this.#upstream;
    return upstream === null || this.#state !== 'serving' || upstream.hasMustHear ? null : upstream.broker;
  }

  /** The upstream leads to the wrong place: both sides end, the client comes again. */
  giveUp(why: string): void {
    this.#upstream?.end('local-close', why);
  }

  start(): void {
    this.#clientGate.hold('connecting');
    const { delayMs } = this.#options;
    if (delayMs === 0) void this.#connect();
    else {
      this.#clientGate.hold('penalty');
      this.#timer = setTimeout(() => {
        this.#clientGate.lift('penalty');
        void this.#connect();
      }, delayMs);
    }
  }

  async #connect(): Promise<void> {
    let upstream: Upstream;
    try {
      upstream = await this.#options.connect();
    } catch (error) {
      const why = textOf(error);
      this.#client.end('upstream-connect-failed', why);
      return;
    }
    if (this.#state !== 'connecting') {
      upstream.end('local-close');
      return;
    }
    this.#state = 'serving';
    this.#upstream = upstream;
    this.#brokerGate = new Gate<BrokerHold>(upstream);
    this.#options.onUpstreamOpen(upstream);
    upstream.handle({
      onDrain: () => this.#clientGate.lift('broker-slow'),
      onSettled: () => this.#heard(),
      onClosed: (cause, detail) => this.#upstreamClosed(upstream, cause, detail),
    });
    this.#clientGate.lift('connecting');
  }

  // --- from the client ------------------------------------------------------------------------------------------

  onFrame(frame: Buffer): void {
    if (this.#state !== 'serving') return;
    this.counts.requests += 1;
    this.#handle(frame);
  }

  owesAnswer(): boolean {
    return this.#order.size > 0;
  }

  onDrain(): void {
    this.#brokerGate?.lift('client-slow');
    this.#clientGate.lift('client-slow');
  }

  onClosed(cause: CloseCause, detail: string): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#clientEnd = { cause, detail };
    this.#order.stop();
    this.#waits.stop();
    const upstream = this.#upstream;
    if (upstream === null || this.#state === 'closing') {
      this.#gone();
      return;
    }
    // what was held back for this client is of no use any more, but answers that must be heard are
    this.#brokerGate?.lift('client-slow');
    if (!upstream.hasMustHear) {
      this.#state = 'closing';
      upstream.endAfterWrites('local-close', `the client went: ${cause}`);
      return;
    }
    this.#state = 'hearing';
    this.#timer = setTimeout(() => upstream.end('local-close', 'an answer did not come'), HEARING_MS);
  }

  #handle(frame: Buffer): void {
    const judged = this.#judge.request(frame, this.#rights);
    switch (judged.kind) {
      case 'opaque':
        this.#forward(withSize(frame), frame.readInt32BE(4), frame.readInt16BE(2), judged.response, null);
        return;
      case 'ruled':
        this.#carryOut(judged.verdict, frame, judged.header, judged.response);
        return;
      case 'closed':
        this.#closeInTurn(judged.reason);
        return;
    }
  }

  #carryOut(
    verdict: Verdict,
    frame: Buffer,
    header: RequestHeader,
    response: ApiRule['response'] | null,
  ): void {
    const { apiVersion, correlationId } = header;
    switch (verdict.kind) {
      case 'forward':
        if (verdict.expectReply) this.#forward(withSize(frame), correlationId, apiVersion, response, null);
        else this.#send(withSize(frame), null);
        return;
      case 'forward-as':
        if (verdict.expectReply) {
          this.#forward(verdict.chunks, correlationId, apiVersion, response, verdict.reply ?? null);
        } else this.#send(verdict.chunks, null);
        if (verdict.thenClose !== undefined) this.#closeInTurn(verdict.thenClose);
        return;
      case 'answer':
        this.#answer(verdict.chunks);
        return;
      case 'answer-later':
        this.counts.answeredHere += 1;
        this.#answerLater(verdict.chunks);
        return;
      case 'wait': {
        const { until, orAnswer } = verdict;
        this.#waits.hold(until, () => this.#handle(frame), orAnswer && (() => this.#answer(orAnswer())));
        return;
      }
      case 'close':
        this.#closeInTurn(verdict.reason);
        return;
    }
  }

  #answer(chunks: readonly Uint8Array[]): void {
    this.counts.answeredHere += 1;
    this.#openSlot().fill(chunks);
    if (this.#order.bytesWaiting > WAITING_MARK) this.#clientGate.hold('in-flight');
  }

  // As on a broker, one connection works on one such request at a time: what is behind it is not even read.
  #answerLater(chunks: Promise<readonly Uint8Array[]>): void {
    const slot = this.#openSlot();
    this.#clientGate.hold('verb');
    chunks.then(
      (answer) => {
        slot.fill(answer);
        this.#clientGate.lift('verb');
      },
      (error: unknown) => {
        slot.close({
          cause: 'internal-error',
          detail: textOf(error),
        });
      },
    );
  }

  #closeInTurn(reason: CloseReason): void {
    this.#clientGate.hold('closing');
    this.#order.open().close(reason);
  }

  #openSlot(): Slot {
    const slot = this.#order.open();
    if (this.#order.size >= this.#options.limits.maxInFlight) this.#clientGate.hold('in-flight');
    return slot;
  }

  // --- to the broker --------------------------------------------------------------------------------------------

  #forward(
    chunks: readonly Uint8Array[],
    correlationId: number,
    version: number,
    rule: ApiRule['response'] | null,
    reply: ReplyHandler | null,
  ): void {
    const slot = this.#openSlot();
    const { softwareName } = this.#judge;
    this.#send(chunks, {
      correlationId,
      mustHear: reply?.mustHear ?? false,
      lost: (why, sent) => reply?.lost(why, sent),
      answered: (frame) => {
        this.#served = true;
        if (reply !== null) this.#fill(slot, frame, () => reply.answered(frame));
        else if (rule === null || rule === undefined) slot.fill(withSize(frame));
        else this.#fill(slot, frame, () => this.#judge.response(rule, frame, version, softwareName));
      },
    });
  }

  #send(chunks: readonly Uint8Array[], awaiting: Parameters<Upstream['send']>[1]): void {
    this.counts.forwarded += 1;
    if (this.#upstream?.send(chunks, awaiting) === false) this.#clientGate.hold('broker-slow');
  }

  /** Turns the broker's frame into the client's answer; a frame that can't be read ends the connection (case S4). */
  #fill(slot: Slot, frame: Buffer, make: () => ResponseChunks | Promise<ResponseChunks>): void {
    const bad = (error: unknown): void => {
      const why = textOf(error);
      const isForeign = error instanceof ClusterIdMismatchError;
      this.#upstream?.end(isForeign ? 'cluster-id-mismatch' : 'bad-frame', why);
      if (isForeign) this.#client.endAfterWrites('cluster-id-mismatch', why);
      else this.#client.endAfterWrites('upstream-closed', `the broker's answer can't be read: ${why}`);
    };
    try {
      const made = make();
      if (!(made instanceof Promise)) {
        slot.fill(made ?? withSize(frame));
        return;
      }
      this.#brokerGate?.hold('rewriting');
      made.then((chunks) => {
        slot.fill(chunks ?? withSize(frame));
        this.#brokerGate?.lift('rewriting');
      }, bad);
    } catch (error) {
      bad(error);
    }
  }

  #toClient(chunks: readonly Uint8Array[]): void {
    if (this.#client.write(chunks)) return;
    if (this.#client.state !== 'open') return;
    this.#brokerGate?.hold('client-slow');
    this.#clientGate.hold('client-slow');
  }

  // --- ends -----------------------------------------------------------------------------------------------------

  #upstreamClosed(upstream: Upstream, cause: CloseCause, detail: string): void {
    this.#options.onUpstreamClosed(upstream, cause, detail);
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#clientEnd !== null) {
      this.#gone();
      return;
    }
    this.#state = 'closing';
    this.#clientGate.hold('closing');
    this.#order.stop();
    this.#waits.stop();
    this.#client.endAfterWrites(
      'upstream-closed',
      `${upstream.peer}: ${detail === '' ? cause : `${cause}: ${detail}`}`,
    );
  }

  /** The process ends: an answer that is still due is given up. */
  abandon(): void {
    this.#upstream?.end('shutdown', 'an answer did not come before the end');
  }

  #heard(): void {
    if (this.#state !== 'hearing' || this.#upstream?.hasMustHear === true) return;
    this.#state = 'closing';
    this.#upstream?.endAfterWrites('local-close', 'the client went');
  }

  #gone(): void {
    if (this.#state === 'gone') return;
    this.#state = 'gone';
    const { cause, detail } = this.#clientEnd ?? { cause: 'local-close', detail: '' };
    this.#options.onGone(cause, detail, this.#served);
  }
}
