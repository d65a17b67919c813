import { apiName } from '../../protocol/api-keys.ts';
import { parseRequestHeader, type RequestHeader } from '../../protocol/frame/headers.ts';
import type { DecodeTable } from './decode-table.ts';
import type { CallerRights } from './ports.ts';
import {
  type ApiRule,
  type CloseReason,
  LARGEST_ANSWER_READ,
  LARGEST_READ,
  type RequestSeen,
  type ResponseChunks,
  type RuleServices,
  type Verdict,
} from './rule.ts';
import { textOf } from '../net/error-text.ts';

type ResponseRule = ApiRule['response'] | null;

/** What is to be done with a request; `client-session.ts` does it. */
export type Judged =
  /** nobody reads it */
  | { readonly kind: 'opaque'; readonly response: ResponseRule }
  | {
      readonly kind: 'ruled';
      readonly verdict: Verdict;
      readonly header: RequestHeader;
      readonly response: ResponseRule;
    }
  | { readonly kind: 'closed'; readonly reason: CloseReason };

/** Looks frames up in the decode table and lets the API's rule judge them; keeps what rules know of one client. */
export class FrameJudge {
  readonly #table: DecodeTable;
  readonly #services: RuleServices;
  readonly #clientAddress: string;
  #clientId: string | null = null;
  #softwareName = '';

  constructor(table: DecodeTable, services: RuleServices, clientAddress: string) {
    this.#table = table;
    this.#services = services;
    this.#clientAddress = clientAddress;
  }

  /** Of the last request that was read. */
  get clientId(): string | null {
    return this.#clientId;
  }

  /** Of the last ApiVersions request, '' before one. */
  get softwareName(): string {
    return this.#softwareName;
  }

  /** Never throws: a request that can't be read closes its connection. */
  request(frame: Buffer, rights: CallerRights): Judged {
    const key = frame.readInt16BE(0);
    const version = frame.readInt16BE(2);
    const treatment = this.#table.lookup(key, version);
    if (treatment.kind === 'refused') return closed('request-refused', treatment.why);
    const { request: rule, response = null } = treatment;
    if (rule === null || rule === undefined) return { kind: 'opaque', response };
    const { largest = LARGEST_READ } = rule;
    const what = `${apiName(key)} v${version}`;
    if (frame.length > largest) {
      return closed('bad-frame', `${what} of ${frame.length} bytes: the largest that is read is ${largest}`);
    }
    try {
      const header = parseRequestHeader(frame);
      this.#clientId = header.clientId;
      const seen: RequestSeen = {
        ...this.#services,
        frame,
        header,
        clientAddress: this.#clientAddress,
        rights,
        softwareName: this.#softwareName,
      };
      const verdict = rule.run(seen);
      this.#softwareName = seen.softwareName;
      return { kind: 'ruled', verdict, header, response };
    } catch (error) {
      return closed('bad-frame', `${what}: ${textOf(error)}`);
    }
  }

  /**
   * The client's answer of the broker's, as the client stood when it asked.
   * @throws Error for bytes that can't be read, or that are too many to be
   */
  response(
    rule: NonNullable<ResponseRule>,
    frame: Buffer,
    apiVersion: number,
    softwareName: string,
  ): ResponseChunks | Promise<ResponseChunks> {
    const { largest = LARGEST_ANSWER_READ } = rule;
    if (frame.length > largest) throw new Error(`${frame.length} bytes, the largest read is ${largest}`);
    return rule.run({ ...this.#services, frame, apiVersion, softwareName });
  }
}

function closed(cause: CloseReason['cause'], detail: string): Judged {
  return { kind: 'closed', reason: { cause, detail } };
}
