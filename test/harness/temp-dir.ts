import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeAtEnd } from './processes.ts';

export interface TempDir {
  path: string;
  remove(): void;
}

/** A folder of its own, removed at the latest when this process ends (kept with ISTHMUS_KEEP_TMP=1). */
export function tempDir(name: string): TempDir {
  const path = mkdtempSync(join(tmpdir(), `isthmus-${name}-`));
  removeAtEnd(path);
  return {
    path,
    remove: () => {
      if (process.env.ISTHMUS_KEEP_TMP === undefined) rmSync(path, { recursive: true, force: true });
    },
  };
}
