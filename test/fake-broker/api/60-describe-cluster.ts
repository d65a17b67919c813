import type { Handler } from '../registry.ts';

/** DescribeCluster 0-2. v1 endpoint type, v2 fenced brokers. */
const NOT_ASKED = -2147483648;

export const describeCluster: Handler = {
  versions: [0, 2],
  flexibleFrom: 0,
  handle(input, output, { state, version, fail }) {
    const operations = input.bool();
    output
      .i32(0)
      .i16(fail ?? 0)
      .str(null);
    if (version >= 1) output.i8(1);
    output.str(state.clusterId).i32(state.nodes[0]?.id ?? -1);
    output.list(state.nodes, ({ id, host, port }) => {
      output.i32(id).str(host).i32(port).str(null);
      if (version >= 2) output.bool(false);
      output.tags();
    });
    output.i32(operations ? state.clusterOperations : NOT_ASKED).tags();
    return { body: output };
  },
};
