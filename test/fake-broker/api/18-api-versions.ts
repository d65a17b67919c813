import type { Handler } from '../registry.ts';

/** ApiVersions 0-4: the table of the cluster's state. v3 flexible (its response header never is). */
export const apiVersions: Handler = {
  versions: [0, 4],
  flexibleFrom: 3,
  handle(_input, output, { state, version, fail }) {
    output.i16(fail ?? 0);
    output.list([...state.versions], ([key, { min, max }]) => output.i16(key).i16(min).i16(max).tags());
    if (version >= 1) output.i32(0);
    output.tags();
    return { body: output };
  },
};
