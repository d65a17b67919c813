import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeRequest,
  decodeResponse,
  encodeRequest,
  encodeResponse,
  parseRequestHeader,
} from '../../../../protocol/frame/index.ts';
import { produceApi } from '../../../../protocol/schema/00-produce.ts';
import { NodeMap } from '../../../../src/gateway/node-map.ts';
import {
  isWholeRefused,
  mergedResponse,
  type OwnAnswer,
  ownResponse,
  withoutOwn,
} from '../../../../src/gateway/produce-split.ts';
import { walkProduce } from '../../../../src/gateway/produce-walk.ts';

const IDS = ['AAAAAAAAAAAAAAAAAAAAAQ', 'AAAAAAAAAAAAAAAAAAAAAg', 'AAAAAAAAAAAAAAAAAAAAAw'];
const REFUSED: OwnAnswer = { code: 44, message: 'read-only' };
const nodes = new NodeMap('gw', new Map());

/** For each topic, for each partition: refused by us or not. */
const plans = fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 3,
});

describe.each([3, 8, 9, 12, 13])('a Produce %i of which some partitions are answered by us', (version) => {
  const build = (plan: boolean[][]) => {
    const topicData = plan.map((partitions, t) => ({
      name: `topic-${t}`,
      topicId: IDS[t] ?? '',
      partitionData: partitions.map((_, index) => ({ index, records: Buffer.from(`records ${t}/${index}`) })),
    }));
    const frame = encodeRequest(produceApi, version, 77, 'c', { acks: -1, timeoutMs: 1, topicData }).subarray(
      4,
    );
    const { bodyOffset } = parseRequestHeader(frame);
    const shape = walkProduce(frame, bodyOffset, version);
    if (typeof shape === 'string') throw new Error(shape);
    const own = plan.map((partitions) => partitions.map((refused) => (refused ? REFUSED : undefined)));
    return { frame, bodyOffset, shape, own };
  };

  it('the broker gets exactly the others', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const { frame, bodyOffset, shape, own } = build(plan);
        const sent = Buffer.concat(withoutOwn(frame, shape, own, version));
        expect(sent.readInt32BE(0)).toBe(sent.length - 4);
        const body = decodeRequest(produceApi, version, sent.subarray(4), bodyOffset);
        const got = body.topicData.map(({ partitionData }) =>
          partitionData.map(({ records }) => records?.toString()),
        );
        const wanted = plan
          .map((partitions, t) => partitions.flatMap((refused, p) => (refused ? [] : [`records ${t}/${p}`])))
          .filter((partitions) => partitions.length > 0);
        expect(got).toEqual(wanted);
      }),
    );
  });

  it('the client gets every partition once, in its order', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const { shape, own } = build(plan);
        let chunks: Uint8Array[];
        if (isWholeRefused(own)) chunks = ownResponse(shape, own, version, 77);
        else {
          const responses = plan.flatMap((partitions, t) => {
            const kept = partitions.flatMap((refused, index) =>
              refused ? [] : [{ index, baseOffset: t * 10 + index }],
            );
            return kept.length === 0
              ? []
              : [{ name: `topic-${t}`, topicId: IDS[t] ?? '', partitionResponses: kept.toReversed() }];
          });
          const answer = encodeResponse(produceApi, version, 77, {
            responses: responses.toReversed(),
            throttleTimeMs: 5,
          });
          chunks = mergedResponse(answer.subarray(4), shape, own, version, nodes);
        }
        const whole = Buffer.concat(chunks);
        expect(whole.readInt32BE(4)).toBe(77);
        const body = decodeResponse(produceApi, version, whole.subarray(4));
        const got = body.responses.map(({ partitionResponses }) =>
          partitionResponses.map(({ index, errorCode, baseOffset }) => [index, errorCode, baseOffset]),
        );
        expect(got).toEqual(
          plan.map((partitions, t) =>
            partitions.map((refused, p) => (refused ? [p, 44, -1] : [p, 0, t * 10 + p])),
          ),
        );
        if (!isWholeRefused(own)) expect(body.throttleTimeMs).toBe(5);
      }),
    );
  });
});
