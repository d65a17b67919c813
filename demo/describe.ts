import { runIsthmus } from '../test/harness/isthmus.ts';
import { MIRROR } from './stage.ts';

export interface PartitionRow {
  readonly partition: number;
  readonly sourceOffset: number;
  readonly destinationOffset: number;
  readonly lag: number;
  readonly state: string;
  readonly errorMessage: string | null;
  readonly phase?: string | null;
  readonly settledBy?: string;
  readonly lastMirroredOffset?: number;
  readonly barrierOffset?: number;
  readonly counts?: Readonly<Record<string, number>> | null;
}

/** `isthmus mirror describe -o json`, as a script would call it. @throws Error with what it printed when it fails */
export async function describeMirror(gateway: string): Promise<PartitionRow[]> {
  const args = ['mirror', 'describe', MIRROR, '--bootstrap-server', gateway, '-o', 'json'];
  const { code, stdout, stderr } = await runIsthmus(args);
  if (code !== 0) throw new Error(`isthmus ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as PartitionRow[];
}

/** Any other command; gives its lines. @throws Error with what it printed when it fails */
export async function isthmusLines(args: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runIsthmus(args);
  if (code !== 0) throw new Error(`isthmus ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
  return stdout.trimEnd().split('\n');
}
