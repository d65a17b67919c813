import type { Handler } from '../registry.ts';

/** FindCoordinator 0-6. v1 key type, v3 flexible, v4 batched keys. Every key is coordinated by the first node. */
export const findCoordinator: Handler = {
  versions: [0, 6],
  flexibleFrom: 3,
  handle(input, output, { state, version, fail }) {
    const single = version < 4 ? input.str() : '';
    if (version >= 1) input.i8();
    const keys = version >= 4 ? input.list(() => input.str()) : [single];
    const node = state.nodes[0];
    const failed = fail !== undefined || node === undefined;
    const where = failed ? { id: -1, host: '', port: -1 } : node;
    if (version >= 1) output.i32(0);
    if (version >= 4) {
      output.list(keys, (key) => {
        output
          .str(key)
          .i32(where.id)
          .str(where.host)
          .i32(where.port)
          .i16(fail ?? 0);
        output.str(null).tags();
      });
    } else {
      output.i16(fail ?? 0);
      if (version >= 1) output.str(null);
      output.i32(where.id).str(where.host).i32(where.port);
    }
    output.tags();
    return { body: output };
  },
};
