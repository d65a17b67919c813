import { afterEach, describe, expect, it } from 'vitest';
import type { Handler } from './registry.ts';
import type { In, Out } from './index.ts';
import { startUnderTest, type UnderTest } from './support/gateway-under-test.ts';
import { StubView } from './support/stub-control.ts';

const COPY_ID = 'Y29weWNvcHljb3B5Y29weQ';
const ZERO_ID = 'AAAAAAAAAAAAAAAAAAAAAA';

interface Refused {
  readonly what: string;
  readonly code: number;
  readonly message?: string | null;
}

interface Api {
  readonly name: string;
  readonly key: number;
  readonly flexibleFrom: number;
  readonly versions: readonly number[];
  /** A request that names these topics, in order. */
  body(version: number, topics: readonly string[]): (out: Out) => void;
  read(input: In, version: number): Refused[];
}

const apis: readonly Api[] = [
  {
    name: 'CreatePartitions',
    key: 37,
    flexibleFrom: 2,
    versions: [0, 1, 2, 3],
    body: (_, topics) => (out) => {
      out
        .list(
          topics,
          (name) =>
            void out
              .str(name)
              .i32(9)
              .list(null, () => undefined)
              .tags(),
        )
        .i32(1_000)
        .bool(false)
        .tags();
    },
    read: (input) => {
      input.i32();
      return input.list(() => {
        const found = { what: input.str(), code: input.i16(), message: input.nstr() };
        input.tags();
        return found;
      });
    },
  },
  {
    name: 'DeleteTopics',
    key: 20,
    flexibleFrom: 4,
    versions: [1, 3, 4, 5, 6],
    body: (version, topics) => (out) => {
      out.list(topics, (name) => {
        out.str(name);
        if (version >= 6) out.uuid(ZERO_ID).tags();
      });
      out.i32(1_000).tags();
    },
    read: (input, version) => {
      input.i32();
      return input.list(() => {
        const what = input.str();
        if (version >= 6) input.uuid();
        const code = input.i16();
        const message = version >= 5 ? input.nstr() : undefined;
        input.tags();
        return message === undefined ? { what, code } : { what, code, message };
      });
    },
  },
  {
    name: 'DeleteRecords',
    key: 21,
    flexibleFrom: 2,
    versions: [0, 1, 2],
    body: (_, topics) => (out) => {
      out.list(
        topics,
        (name) =>
          void out
            .str(name)
            .list([0], (index) => void out.i32(index).i64(5).tags())
            .tags(),
      );
      out.i32(1_000).tags();
    },
    read: (input) => {
      input.i32();
      return input
        .list(() => {
          const what = input.str();
          const codes = input.list(() => {
            input.i32();
            input.i64();
            const code = input.i16();
            input.tags();
            return { what, code };
          });
          input.tags();
          return codes;
        })
        .flat();
    },
  },
  {
    name: 'WriteTxnMarkers',
    key: 27,
    flexibleFrom: 1,
    versions: [0, 1, 2],
    body: (version, topics) => (out) => {
      out.list(topics, (name) => {
        out.i64(7).i16(0).bool(true);
        out.list(
          [name],
          () =>
            void out
              .str(name)
              .list([0], (index) => void out.i32(index))
              .tags(),
        );
        out.i32(0);
        if (version >= 2) out.i8(0);
        out.tags();
      });
      out.tags();
    },
    read: (input) =>
      input
        .list(() => {
          input.i64();
          const found = input.list(() => {
            const what = input.str();
            const codes = input.list(() => {
              input.i32();
              const code = input.i16();
              input.tags();
              return { what, code };
            });
            input.tags();
            return codes;
          });
          input.tags();
          return found.flat();
        })
        .flat(),
  },
  ...[
    { name: 'AlterConfigs', key: 33, flexibleFrom: 2, versions: [0, 1, 2], incremental: false },
    { name: 'IncrementalAlterConfigs', key: 44, flexibleFrom: 1, versions: [0, 1], incremental: true },
  ].map(
    ({ incremental, ...api }): Api => ({
      ...api,
      body: (_, topics) => (out) => {
        out.list(topics, (name) => {
          out.i8(2).str(name);
          out.list(['retention.ms'], (config) => {
            out.str(config);
            if (incremental) out.i8(0);
            out.str('1').tags();
          });
          out.tags();
        });
        out.bool(false).tags();
      },
      read: (input) => {
        input.i32();
        return input.list(() => {
          const code = input.i16();
          const message = input.nstr();
          input.i8();
          const what = input.str();
          input.tags();
          return { what, code, message };
        });
      },
    }),
  ),
];

/** A broker that answers what it is asked with an empty body: only whether it was asked matters. */
const silentApis: Record<number, Handler> = Object.fromEntries(
  apis.map(({ key, flexibleFrom, versions }) => [
    key,
    {
      versions: [versions[0] ?? 0, versions.at(-1) ?? 0] as const,
      flexibleFrom,
      handle: (_: In, output: Out) => ({ body: output.i32(0) }),
    },
  ]),
);
const ranges = Object.fromEntries(apis.map(({ key, versions }) => [key, [0, versions.at(-1) ?? 0] as const]));

describe.each(apis)('$name through a gateway', (api) => {
  let test: UnderTest;
  afterEach(() => test.close());

  const start = async (view: StubView, config = {}): Promise<void> => {
    const topics = [{ name: 'copy', topicId: COPY_ID }, 'orders', '__mirror_state'];
    test = await startUnderTest({ topics, apis: silentApis, versions: ranges, view, config });
  };
  const ask = async (version: number, topics: readonly string[]): Promise<Refused[]> => {
    const client = await test.connect(1);
    const input = await client.call(api.key, version, version >= api.flexibleFrom, api.body(version, topics));
    return api.read(input, version);
  };

  it.each(api.versions.map((version) => [version]))(
    '%i naming a mirror topic is refused whole',
    async (version) => {
      await start(new StubView().mirrored('copy'));
      const refused = await ask(version, ['orders', 'copy']);
      expect(refused).toMatchObject([
        { what: 'orders', code: 55 },
        { what: 'copy', code: 44 },
      ]);
      const text = refused[1]?.message;
      if (text !== undefined) expect(text).toContain('mirror east-to-west of cluster east');
      expect(test.fake.requestsOf(api.key)).toEqual([]);
    },
  );

  it('naming the state topic is refused too', async () => {
    await start(new StubView());
    expect(await ask(api.versions.at(-1) ?? 0, ['__mirror_state'])).toMatchObject([{ code: 44 }]);
    expect(test.fake.requestsOf(api.key)).toEqual([]);
  });

  it('naming ordinary and stopped topics passes as it came', async () => {
    await start(new StubView().mirrored('copy', { stopped: 'all' }));
    const client = await test.connect(1);
    const version = api.versions.at(-1) ?? 0;
    const id = client.post(
      api.key,
      version,
      version >= api.flexibleFrom,
      api.body(version, ['orders', 'copy']),
    );
    await client.answerTo(id);
    const [seen] = test.fake.requestsOf(api.key);
    expect(seen).toMatchObject({ apiVersion: version, correlationId: id });
  });

  it('stale: a retriable error for a topic with a mirror record', async () => {
    await start(new StubView().mirrored('copy', { stopped: 'all' }));
    test.view.state = 'stale';
    expect(await ask(api.versions.at(-1) ?? 0, ['copy'])).toMatchObject([{ code: 6 }]);
  });
});

describe('DeleteTopics 6 by id through a gateway', () => {
  const byId = (id: string) => (out: Out) => {
    out
      .list([id], () => void out.str(null).uuid(id).tags())
      .i32(1_000)
      .tags();
  };

  it('a mirror topic is refused by the name behind its id; so is an unknown id', async () => {
    const test = await startUnderTest({
      topics: [{ name: 'copy', topicId: COPY_ID }],
      view: new StubView().mirrored('copy'),
    });
    const client = await test.connect(1);
    const input = await client.call(20, 6, true, byId(COPY_ID));
    input.i32();
    expect(input.list(() => ({ name: input.nstr(), id: input.uuid(), code: input.i16() }))).toEqual([
      { name: null, id: COPY_ID, code: 44 },
    ]);
    expect(test.fake.state.topics.has('copy')).toBe(true);
    const unknown = await client.call(20, 6, true, byId('bm9uZW5vbmVub25lbm9uZQ'));
    unknown.i32();
    expect(
      unknown.list(() => ({ name: unknown.nstr(), id: unknown.uuid(), code: unknown.i16() }))[0]?.code,
    ).toBe(100);
    expect(test.fake.requestsOf(20)).toEqual([]);
    await test.close();
  });
});
