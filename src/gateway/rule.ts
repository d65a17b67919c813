import type { RequestHeader } from '../../protocol/frame/headers.ts';
import type { CloseCause } from '../net/close-cause.ts';
import type { GatewayConfig } from './config.ts';
import type { NodeMap } from './node-map.ts';
import type { CallerRights, MirrorRolePort, MirrorView, VerbPort } from './ports.ts';
import type { TopicIds } from './topic-ids.ts';
import type { BrokerAddress } from './upstream.ts';

/**
 * What a rule is: for one API, whether requests and responses of a version have to be read, and what is done then.
 * The decode table (`decode-table.ts`) is built from the active rules once; what no rule asks for passes unread.
 */
export interface ApiRule {
  readonly key: number;
  /** Versions that we can read: what is announced is cut to them, and others are refused as a broker does. */
  readonly versions: readonly [min: number, max: number];
  /** Keep the minimum that the broker announces (Produce: librdkafka takes a higher one for "no Produce at all"). */
  readonly keepAnnouncedMin?: boolean;
  readonly request?: {
    /** First version whose requests are read. */
    readonly from: number;
    /** Bytes of the largest frame that is read; a larger one is refused. Default `LARGEST_READ`. */
    readonly largest?: number;
    run(request: RequestSeen): Verdict;
  };
  readonly response?: {
    /** First version whose responses are read. */
    readonly from: number;
    /** Bytes of the largest answer that is read; a larger one ends the connection. Default `LARGEST_ANSWER_READ`. */
    readonly largest?: number;
    run(response: ResponseSeen): ResponseChunks | Promise<ResponseChunks>;
  };
}

/**
 * A request that is decoded becomes objects of many times its bytes, so one of the size that Produce needs would take
 * gigabytes and seconds (case S3). Requests that tools send are a thousandth of this.
 */
export const LARGEST_READ = 1024 * 1024;

/** The same for answers that are decoded. One that names 100,000 coordinators is half of it. */
export const LARGEST_ANSWER_READ = 16 * 1024 * 1024;

/**
 * An answer that is walked has no bound on its bytes, but on what is kept of it: brokers of a cluster, partitions with
 * records. Only a broker that means harm has more.
 */
export const MOST_KEPT = 100_000;

/** Everything that is the same for all connections of a gateway. */
export interface RuleServices {
  readonly config: GatewayConfig;
  readonly nodes: NodeMap;
  /** Id of the cluster that this gateway stands for; null while it was not reached. */
  readonly clusterId: () => string | null;
  readonly ids: TopicIds;
  /** Where a Metadata answer says that brokers are. */
  readonly brokersTold: (brokers: readonly BrokerAddress[]) => void;
  readonly view: MirrorView;
  readonly verbs: VerbPort;
  readonly mirrorRole: MirrorRolePort;
}

export interface RequestSeen extends RuleServices {
  readonly frame: Buffer;
  readonly header: RequestHeader;
  readonly clientAddress: string;
  /** Rights of this caller, asked on its own upstream connection. */
  readonly rights: CallerRights;
  /** Software name of the last ApiVersions request, '' before one. */
  softwareName: string;
}

export interface ResponseSeen extends RuleServices {
  /** The broker's answer without its size. */
  readonly frame: Buffer;
  readonly apiVersion: number;
  readonly softwareName: string;
}

/** A whole response with its size in front, or null: the broker's frame as it is. */
export type ResponseChunks = readonly Uint8Array[] | null;

export type Verdict =
  /** as it came; `expectReply` false for Produce with acks=0 */
  | { readonly kind: 'forward'; readonly expectReply: boolean }
  /** other bytes in its place; `reply` turns the broker's answer into the client's (else the response rule does) */
  | {
      readonly kind: 'forward-as';
      readonly chunks: readonly Uint8Array[];
      readonly expectReply: boolean;
      readonly reply?: ReplyHandler | undefined;
      /** Closes the client once all earlier answers have left (acks=0 with a refused partition). */
      readonly thenClose?: CloseReason | undefined;
    }
  /** answered by us, in its turn */
  | { readonly kind: 'answer'; readonly chunks: readonly Uint8Array[] }
  /** answered by us when the promise ends; nothing behind it is read meanwhile */
  | { readonly kind: 'answer-later'; readonly chunks: Promise<readonly Uint8Array[]> }
  /** asked again when the promise ends; nothing behind it is read meanwhile. After a minute: `orAnswer`, or closed */
  | {
      readonly kind: 'wait';
      readonly until: Promise<void>;
      readonly orAnswer?: (() => readonly Uint8Array[]) | undefined;
    }
  /** the client is closed once all earlier answers have left */
  | { readonly kind: 'close'; readonly reason: CloseReason };

export interface CloseReason {
  readonly cause: CloseCause;
  readonly detail: string;
}

export interface ReplyHandler {
  /** The broker answered. */
  answered(frame: Buffer): ResponseChunks;
  /** The upstream ended without an answer; `sent` false when no byte of the request had left. */
  lost(why: string, sent: boolean): void;
  /** true: the outcome matters beyond this client, so the upstream is kept until the answer even if the client left. */
  readonly mustHear: boolean;
}

export const FORWARD: Verdict = { kind: 'forward', expectReply: true };
