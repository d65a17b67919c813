import type { CloseCause } from '../net/close-cause.ts';
import type { GatewayLimits } from './config.ts';
import type { DecodeTable } from './decode-table.ts';
import type { RuleServices } from './rule.ts';
import type { Upstream } from './upstream.ts';

/** What a client connection is given, and what it counts. */
export interface SessionOptions {
  readonly services: RuleServices;
  readonly table: DecodeTable;
  readonly limits: GatewayLimits;
  /** Opens this connection's upstream. Rejects with a text that names what failed. */
  readonly connect: () => Promise<Upstream>;
  readonly delayMs: number;
  readonly onUpstreamOpen: (upstream: Upstream) => void;
  readonly onUpstreamClosed: (upstream: Upstream, cause: CloseCause, detail: string) => void;
  /** Called once, when both sides are gone. */
  readonly onGone: (cause: CloseCause, detail: string, served: boolean) => void;
}

export interface SessionCounts {
  requests: number;
  forwarded: number;
  answeredHere: number;
}

/** Why nothing is read from the client now. */
export type ClientHold =
  | 'penalty'
  | 'connecting'
  | 'waiting'
  | 'verb'
  | 'in-flight'
  | 'broker-slow'
  | 'client-slow'
  | 'closing';
/** Why nothing is read from the broker now. */
export type BrokerHold = 'client-slow' | 'rewriting';
