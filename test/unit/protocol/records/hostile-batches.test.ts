import { gzipSync, zstdCompressSync } from 'node:zlib';
import { compressFrameSync } from 'lz4-napi';
import { compressSync } from 'snappy';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildBatch, encodeRecords } from '../../../../protocol/records/build.ts';
import { crc32c } from '../../../../protocol/records/crc32c.ts';
import { type RecordsFault, RecordsError } from '../../../../protocol/records/errors.ts';
import { type ReadRecordsOptions, readRecords } from '../../../../protocol/records/records.ts';
import { NOW, golden } from './golden.ts';
import { pseudoRandomBytes } from './random-bytes.ts';

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
const MIB = 1024 * 1024;

function faultOf(buf: Buffer, options?: ReadRecordsOptions): RecordsFault | 'none' {
  try {
    for (const record of readRecords(buf, 0, options)) void record;
    return 'none';
  } catch (error) {
    if (error instanceof RecordsError) return error.code;
    throw error;
  }
}

/** A batch around records bytes that are given as they are. */
function batchAround(section: Buffer, codec: number, recordCount = 1): Buffer {
  const shell = buildBatch({ records: [], attributes: codec, recordCount, lastOffsetDelta: recordCount - 1 });
  const batch = Buffer.concat([shell, section]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeUInt32BE(crc32c(batch, 21), 17);
  return batch;
}

describe('batches cut short', () => {
  test.each(CODECS)('cut at each byte, a batch is refused and nothing is read beyond it (%s)', (codec) => {
    const whole = golden(`mixed-${codec}`);
    for (let length = 0; length < whole.length; length++) {
      expect(faultOf(whole.subarray(0, length))).toBe('cut-short');
    }
    expect(faultOf(whole)).toBe('none');
  });

  test.each(CODECS)('a section cut at each byte under a right CRC and length is refused (%s)', (codec) => {
    const section = golden(`mixed-${codec}`).subarray(61);
    for (let length = 0; length < section.length; length++) {
      // An lz4 content checksum and a gzip trailer are part of the section too.
      const fault = faultOf(batchAround(section.subarray(0, length), CODECS.indexOf(codec), 5));
      expect(['bad-record', 'bad-compression']).toContain(fault);
    }
  });
});

describe('damage', () => {
  test.each(CODECS)('a flipped bit anywhere behind the CRC is told before decompression (%s)', (codec) => {
    const whole = golden(`mixed-${codec}`);
    for (let at = 21; at < whole.length; at++) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] as number) ^ 1;
      expect(faultOf(damaged)).toBe('crc-mismatch');
    }
  });

  test('any bytes as a section of any codec end in a named fault, never in a crash', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 7),
        fc.uint8Array({ maxLength: 200 }),
        (codec, bytes) => {
          const fault = faultOf(batchAround(Buffer.from(bytes), codec));
          expect(['bad-record', 'bad-compression', 'output-too-large', 'unknown-codec']).toContain(fault);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('any bytes changed in a compressed section end in a named fault or in records', () => {
    const section = fc.constantFrom(...CODECS.slice(1));
    fc.assert(
      fc.property(section, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 }), (codec, where, bytes) => {
        const damaged = golden(`large-${codec}`).subarray(61);
        damaged.set(bytes.subarray(0, damaged.length), where % (damaged.length - bytes.length));
        const fault = faultOf(batchAround(damaged, CODECS.indexOf(codec), 120), { maxOutputBytes: MIB });
        expect(['none', 'bad-record', 'bad-compression', 'output-too-large']).toContain(fault);
      }),
      { numRuns: 500 },
    );
  });
});

describe('hostile lengths', () => {
  const HOSTILE = [2 ** 31 - 1, -2, -(2 ** 31), 0xffff_ffff | 0];

  test('in batchLength', () => {
    for (const length of HOSTILE) {
      const batch = golden('mixed-none');
      batch.writeInt32BE(length, 8);
      expect(faultOf(batch)).toBe('cut-short');
    }
  });

  test('in the record count, which allocates nothing', () => {
    for (const count of HOSTILE) {
      expect(faultOf(buildBatch({ records: [{ value: 'x' }], recordCount: count }))).toBe('bad-record');
    }
    expect(faultOf(buildBatch({ records: [{ value: 'x' }], recordCount: 2 }))).toBe('bad-record');
    expect(faultOf(buildBatch({ records: [{ value: 'x' }, {}], recordCount: 1 }))).toBe('bad-record');
    expect(faultOf(buildBatch({ records: [{ value: 'x' }], recordCount: 0 }))).toBe('bad-record');
  });

  test('in record length, key, value, header count and header lengths', () => {
    const varint = (value: number): number[] => {
      const out: number[] = [];
      let rest = ((value << 1) ^ (value >> 31)) >>> 0;
      for (; rest >= 0x80; rest >>>= 7) out.push((rest & 0x7f) | 0x80);
      return [...out, rest];
    };
    const record = (body: number[]): Buffer => Buffer.from([...varint(body.length), ...body]);
    const ok = [0, 0, 0, ...varint(1), 0x6b, ...varint(1), 0x76];
    for (const length of [...HOSTILE, 100]) {
      const sections = [
        Buffer.from([...varint(length), ...ok, 0]),
        record([0, 0, 0, ...varint(length), 0x6b, 1, 0]),
        record([0, 0, 0, 1, ...varint(length), 0x76, 0]),
        record([...ok, ...varint(length), 1, 1]),
        record([...ok, ...varint(1), ...varint(length), 1]),
        record([...ok, ...varint(1), 0, ...varint(length), 1, 1]),
      ];
      // Lengths of -1 mean null for a value and a header value, and the bytes behind them are then too many.
      for (const section of sections) expect(faultOf(batchAround(section, 0))).toBe('bad-record');
    }
    expect(faultOf(batchAround(record([...ok, 0]), 0))).toBe('none');
    expect(faultOf(batchAround(record([...ok, 0, 0]), 0))).toBe('bad-record');
    expect(faultOf(batchAround(record([...ok, ...varint(1), ...varint(-1), 0]), 0))).toBe('bad-record');
  });

  test('in snappy blocks, framed and raw', () => {
    const raw = (size: number[]): Buffer => Buffer.from([...size, 0, 0]);
    expect(faultOf(batchAround(raw([0xff, 0xff, 0xff, 0xff, 0x07]), 2))).toBe('bad-compression');
    expect(faultOf(batchAround(raw([0xff, 0xff, 0xff, 0xff, 0x0f]), 2))).toBe('bad-compression');
    expect(faultOf(batchAround(raw([0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), 2))).toBe('bad-compression');
    for (const length of [...HOSTILE, 0]) {
      const framed = golden('mixed-snappy').subarray(61);
      framed.writeInt32BE(length, 16);
      expect(faultOf(batchAround(framed, 2, 5))).toBe('bad-compression');
    }
  });

  test('in lz4 blocks and the declared content size', () => {
    for (const length of HOSTILE) {
      const frame = golden('mixed-lz4').subarray(61);
      frame.writeInt32LE(length, 7);
      expect(faultOf(batchAround(frame, 3, 5))).toBe('bad-compression');
    }
    // Version 01, independent blocks, content size present; header checksum is not what decides.
    const lying = Buffer.from('04224d18684000000000000000100001000000ff00000000', 'hex');
    expect(faultOf(batchAround(lying, 3))).toBe('bad-compression');
  });
});

describe('compression bombs', () => {
  const zeros = Buffer.alloc(64 * MIB);
  const bombs: Record<string, () => Buffer> = {
    gzip: () => gzipSync(zeros),
    snappy: () => compressSync(zeros, { copyOutputData: true }),
    lz4: () => compressFrameSync(zeros),
    zstd: () => zstdCompressSync(zeros),
  };

  test.each(Object.keys(bombs))('64 MiB of zeros are refused at a bound of 1 MiB (%s)', (codec) => {
    const batch = batchAround((bombs[codec] as () => Buffer)(), CODECS.indexOf(codec as 'gzip'));
    const before = process.memoryUsage().rss;
    expect(faultOf(batch, { maxOutputBytes: MIB })).toBe('output-too-large');
    expect(process.memoryUsage().rss - before).toBeLessThan(32 * MIB);
  });

  test('a xerial stream is bounded by the sum of its blocks', () => {
    const block = compressSync(Buffer.alloc(32 * 1024), { copyOutputData: true });
    const length = Buffer.alloc(4);
    length.writeInt32BE(block.length);
    const header = Buffer.from('82534e4150505900' + '0000000100000001', 'hex');
    const stream = Buffer.concat([header, ...Array.from({ length: 64 }, () => [length, block]).flat()]);
    expect(faultOf(batchAround(stream, 2), { maxOutputBytes: 2 * MIB - 1 })).toBe('output-too-large');
    expect(faultOf(batchAround(stream, 2), { maxOutputBytes: 2 * MIB })).toBe('bad-record');
  });

  test('the bound is exact: output of just its size passes in every codec', () => {
    const records = Array.from({ length: 40 }, (_, i) => ({
      timestamp: NOW,
      value: pseudoRandomBytes(900, i),
    }));
    const size = encodeRecords(records, NOW).length;
    for (const [codec, name] of CODECS.entries()) {
      if (name === 'none' || name === 'lz4') continue;
      const batch = buildBatch({ records, codec });
      expect([name, faultOf(batch, { maxOutputBytes: size })]).toEqual([name, 'none']);
      expect([name, faultOf(batch, { maxOutputBytes: size - 1 })]).toEqual([name, 'output-too-large']);
    }
    // lz4 tells only an upper bound: blocks times block size.
    const lz4 = buildBatch({ records, codec: 3 });
    expect(faultOf(lz4, { maxOutputBytes: 64 * 1024 })).toBe('none');
    expect(faultOf(lz4, { maxOutputBytes: size - 1 })).toBe('output-too-large');
  });
});
