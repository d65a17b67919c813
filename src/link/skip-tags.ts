import type { Reader } from '../../protocol/primitives/reader.ts';

/** Passes over a tagged-field section that holds nothing we need. */
export function skipTags(reader: Reader): void {
  const count = reader.uvarint();
  for (let i = 0; i < count && reader.ok; i += 1) {
    reader.uvarint();
    reader.skip(reader.uvarint());
  }
}
