/** The one error that decoding and encoding throw: bytes or values that do not fit a message of the protocol. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  /** For example `Fetch v17 response`. */
  readonly subject: string;
  readonly reason: string;
  /** Field path, '' when no field is to blame. */
  readonly field: string;
  /** Byte position in the frame (behind its size), -1 when unknown (encoding). */
  readonly at: number;

  constructor(what: string, reason: string, field = '', at = -1) {
    const where = `${field === '' ? '' : ` ${field}`}${at < 0 ? '' : ` at byte ${at}`}`;
    super(`${what}:${where}${where === '' ? ' ' : ': '}${reason}`);
    this.subject = what;
    this.reason = reason;
    this.field = field;
    this.at = at;
  }
}
