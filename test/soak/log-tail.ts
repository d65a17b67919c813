import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';

const MARKER_BYTES = 78;

/**
 * Offset of the last batch in a partition's newest segment if that is a transaction marker, else -1; read from the
 * file's last bytes alone, so that it takes no time while a broker stands still.
 */
export function lastMarkerOffset(logDir: string, topic: string, partition: number): number {
  const dir = join(logDir, `${topic}-${partition}`);
  const newest = readdirSync(dir)
    .filter((name) => name.endsWith('.log'))
    .toSorted()
    .at(-1);
  if (newest === undefined) return -1;
  const file = openSync(join(dir, newest), 'r');
  try {
    const { size } = fstatSync(file);
    if (size < MARKER_BYTES) return -1;
    const batch = Buffer.alloc(MARKER_BYTES);
    readSync(file, batch, 0, MARKER_BYTES, size - MARKER_BYTES);
    const isMarker =
      batch.readInt32BE(8) === MARKER_BYTES - 12 && batch[16] === 2 && (batch.readInt16BE(21) & 0x20) !== 0;
    return isMarker ? Number(batch.readBigInt64BE(0)) : -1;
  } finally {
    closeSync(file);
  }
}
