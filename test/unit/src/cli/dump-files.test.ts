import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { buildMarkerBatch } from '../../../../protocol/records/barrier.ts';
import { buildBatch } from '../../../../protocol/records/build.ts';
import { barrierId } from '../../../../protocol/records/ids.ts';
import { type DumpOptions, type DumpResult, dumpFiles } from '../../../../src/cli/dump.ts';
import { golden } from '../../protocol/records/golden.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isthmus-dump-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function dump(
  bytes: Buffer,
  options?: DumpOptions,
): Promise<DumpResult & { lines: string[]; path: string }> {
  const path = join(folder, '00000000000000000000.log');
  await writeFile(path, bytes);
  const lines: string[] = [];
  const result = await dumpFiles([path], { write: (line) => void lines.push(line) }, options);
  return { ...result, lines, path };
}

describe('dump of segment files', () => {
  test('a line for each batch with its position, a second for control records', async () => {
    const result = await dump(Buffer.concat([golden('idempotent'), golden('commit'), golden('magic-1')]));
    expect(result).toMatchObject({ batches: 5 - 1, faults: [] });
    expect(result.lines).toEqual([
      expect.stringMatching(/^position 0 {2}offsets 42\.\.43 .* pid 7001 .* crc valid$/),
      expect.stringMatching(/^position 79 {2}offsets 77\.\.77 .* txn {2}control/),
      '  | COMMIT (type 1)  coordinatorEpoch 12',
      expect.stringMatching(/^position 157 {2}offset 3 .* magic 1 {2}none$/),
      expect.stringMatching(/^position 193 {2}offset 4 .* magic 1 {2}none$/),
    ]);
  });

  test('a barrier names the source cluster that was passed', async () => {
    const barrier = { producerEpoch: 0, timestamp: 0n, coordinatorEpoch: 2, baseOffset: 7 } as const;
    const bytes = buildMarkerBatch({ ...barrier, type: 'COMMIT', producerId: barrierId('east-id') });
    const { lines } = await dump(bytes, { sourceClusterIds: ['east-id'] });
    expect(lines[1]).toContain('MIRROR_PID_RESET (type 7)  generation 2');
    expect(lines[1]).toContain('SourceClusterId "east-id"');
  });

  test('batches larger than the window and many small ones are read through 1 MiB', async () => {
    const large = buildBatch({ records: [{ value: Buffer.alloc(3_500_000, 7) }] });
    const small = Array.from({ length: 20_000 }, (_, i) =>
      buildBatch({ records: [{ value: 'x' }], baseOffset: i }),
    );
    const result = await dump(Buffer.concat([large, ...small, large]));
    expect(result).toMatchObject({ batches: 20_002, faults: [] });
    expect(result.lines.every((line) => line.endsWith('crc valid'))).toBe(true);
    expect(result.lines[20_000]).toContain('offsets 19999..19999');
  });

  test('JSON is one object a line with file and position', async () => {
    const { lines, path } = await dump(golden('commit'), { format: 'json' });
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] as string)).toMatchObject({
      file: path,
      position: 0,
      baseOffset: 77,
      control: { type: 'COMMIT', coordinatorEpoch: 12 },
    });
  });

  test('a damaged payload is a fault with its place, and the walk goes on', async () => {
    const bytes = Buffer.concat([golden('idempotent'), golden('commit')]);
    bytes[70] = 0xff;
    const result = await dump(bytes);
    expect(result.batches).toBe(2);
    expect(result.faults).toEqual([`${result.path}:0: CRC of the batch at offset 42 is wrong`]);
    expect(result.lines[0]).toContain('crc INVALID');
  });

  test('a hostile length and an unknown format end the file at their place', async () => {
    const first = golden('idempotent');
    for (const [at, value, reason] of [
      [8, -2, 'batch length -2 is too small'],
      [8, 0, 'batch length 0 is too small'],
      [16, 0x7f000000, 'magic 127'],
    ] as const) {
      const second = golden('commit');
      second.writeInt32BE(value, at);
      const result = await dump(Buffer.concat([first, second]));
      expect(result.batches).toBe(1);
      expect(result.faults).toEqual([expect.stringContaining(`${result.path}:${first.length}: `)]);
      expect(result.faults[0]).toContain(reason);
    }
  });

  test('a length beyond the end and a file cut at any byte name the last place', async () => {
    const bytes = Buffer.concat([golden('idempotent'), golden('commit')]);
    for (let length = 80; length < bytes.length; length += 7) {
      const result = await dump(bytes.subarray(0, length));
      expect(result.batches).toBe(1);
      expect(result.faults).toEqual([expect.stringContaining(`${result.path}:79: `)]);
    }
    const huge = golden('commit');
    huge.writeInt32BE(2 ** 31 - 1, 8);
    expect((await dump(huge)).faults[0]).toContain('needs 2147483659 bytes and 78 are left');
  });

  test('something else than a segment, a folder and a missing file are told apart, the others are dumped', async () => {
    const text = join(folder, 'notes.txt');
    const good = join(folder, 'good.log');
    await writeFile(text, 'this is not a log segment, not at all, and it is long enough to look like one');
    await writeFile(good, golden('commit'));
    const lines: string[] = [];
    const result = await dumpFiles([text, join(folder, 'absent.log'), folder, good], {
      write: (line) => void lines.push(line),
    });
    expect(result.batches).toBe(1);
    expect(result.faults).toEqual([
      expect.stringMatching(/notes\.txt:0: no batch can begin here: .*is this a \.log segment/),
      expect.stringMatching(/absent\.log: can't be opened \(ENOENT\)/),
      expect.stringMatching(/: can't be read \(EISDIR\): a folder, name the \.log files in it/),
    ]);
    expect(lines).toContain(`${good}:`);
  });

  test("the other files of a partition's folder are told apart by their names, whatever their bytes look like", async () => {
    const names = [
      '00000000000000000042.index',
      '00000000000000000042.timeindex',
      '00000000000000000042.txnindex',
    ];
    const others = [
      ...names,
      '00000000000000000042.snapshot',
      'partition.metadata',
      'leader-epoch-checkpoint',
    ];
    for (const name of others) await writeFile(join(folder, name), golden('magic-1'));
    const lines: string[] = [];
    const sink = { write: (line: string) => void lines.push(line) };
    const result = await dumpFiles(
      others.map((name) => join(folder, name)),
      sink,
    );
    expect(result).toMatchObject({ batches: 0 });
    expect(result.faults).toEqual([
      expect.stringMatching(/: an offset index, not a log segment; the records are in 0+42\.log$/),
      expect.stringMatching(/: a time index, not a log segment/),
      expect.stringMatching(/: an index of aborted transactions, not a log segment/),
      expect.stringMatching(/: a snapshot of producer states, not a log segment/),
      expect.stringMatching(/: the topic id of the partition, not a log segment$/),
      expect.stringMatching(/: the list of leader epochs, not a log segment$/),
    ]);
  });

  test('bytes that by chance look like a batch of an old format make no batch', async () => {
    // an offset index under another name: relative offset and position, again and again
    const index = Buffer.alloc(4096);
    for (let at = 0; at < 1024; at += 8) {
      index.writeInt32BE(50 + at, at);
      index.writeInt32BE(at === 8 ? 101 : 6000 + at, at + 4);
    }
    index.writeInt32BE(101, 8);
    index[16] = 0;
    const result = await dump(index);
    expect(result).toMatchObject({ batches: 0, lines: [] });
    expect(result.faults).toEqual([expect.stringMatching(/:0: no log segment: .* with a wrong CRC$/)]);
  });

  test('an empty segment has no batches and no faults', async () => {
    expect(await dump(Buffer.alloc(0))).toMatchObject({ batches: 0, faults: [], lines: [] });
  });
});
