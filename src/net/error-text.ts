/** What a thrown value says of itself, for an error text or a log line. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
