/** What can be wrong with a batch that is looked into; stable, matched on by callers. */
export type RecordsFault =
  | 'cut-short'
  | 'unsupported-format'
  | 'crc-mismatch'
  | 'unknown-codec'
  | 'bad-compression'
  | 'output-too-large'
  | 'codec-missing'
  | 'bad-record';

/** A batch that can't be read. `at` is the position of the batch in the buffer it was read from. */
export class RecordsError extends Error {
  override readonly name = 'RecordsError';
  readonly code: RecordsFault;
  readonly at: number;

  constructor(code: RecordsFault, message: string, at = 0) {
    super(message);
    this.code = code;
    this.at = at;
  }
}
