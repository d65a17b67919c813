/**
 * Every end of a connection has a name. The name is log field, metric label and test title, so it is one of a small
 * fixed set; what varies (sizes, addresses, error texts) stands in the detail beside it.
 */
export type CloseCause =
  /** we ended it, in order */
  | 'local-close'
  /** the other side ended it */
  | 'peer-closed'
  | 'connect-failed'
  | 'connect-timeout'
  /** the first exchange (ApiVersions) failed or did not come in time */
  | 'handshake-failed'
  | 'handshake-timeout'
  | 'idle-timeout'
  /** a frame larger than the cap was announced; nothing was allocated for it */
  | 'oversize-frame'
  /** a negative or impossibly small frame size, or a frame that does not decode */
  | 'bad-frame'
  /** TLS was spoken to a plain port, or the reverse (case P23) */
  | 'tls-bytes'
  | 'http-bytes'
  /** a response whose correlation id is not that of the oldest request */
  | 'correlation-mismatch'
  /** a response without a request */
  | 'unasked-response'
  | 'too-many-connections'
  /** the gateway refused the request in the way a broker does: by closing (acks=0) */
  | 'request-refused'
  | 'upstream-closed'
  | 'upstream-connect-failed'
  | 'cluster-id-mismatch'
  | 'shutdown'
  /** a callback of ours threw: a fault in Isthmus, never the peer's */
  | 'internal-error'
  | `socket-error:${string}`;

/** A request that got no answer because its connection ended. */
export class ConnectionClosedError extends Error {
  override readonly cause: CloseCause;
  /** What varies, "" for nothing. */
  readonly detail: string;
  /**
   * true when bytes of the request may have left this process, so that the peer may have acted on it.
   * false only when it is certain that not one byte was handed to the system.
   */
  readonly sentBytes: boolean;
  /** `host:port` of the peer. */
  readonly peer: string;

  constructor(cause: CloseCause, detail: string, peer: string, sentBytes: boolean) {
    super(`connection to ${peer} ended (${cause})${detail === '' ? '' : `: ${detail}`}`);
    this.name = 'ConnectionClosedError';
    this.cause = cause;
    this.detail = detail;
    this.peer = peer;
    this.sentBytes = sentBytes;
  }
}

/** A call was given up; its connection stays and the late answer is dropped (DESIGN 5.5 rule 3). */
export class CallTimeoutError extends Error {
  readonly peer: string;
  constructor(what: string, peer: string, timeoutMs: number) {
    super(`${what} to ${peer} was not answered within ${timeoutMs} ms; the connection is kept`);
    this.name = 'CallTimeoutError';
    this.peer = peer;
  }
}
