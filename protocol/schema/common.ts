/** Structs that several APIs share. */

import { array, int16, int32, type Options, string, struct } from './notation.ts';

/** Leader of a partition as Produce 10+ and Fetch 12+ tell it along with NOT_LEADER_OR_FOLLOWER (KIP-951). */
export const leaderIdAndEpoch = (when: Options<never>) =>
  struct({ leaderId: int32({ default: -1 }), leaderEpoch: int32({ default: -1 }) }, when);

/** Addresses of the leaders named in a response (KIP-951). */
export const nodeEndpoints = (when: Options<never[]>) =>
  array(
    struct({
      nodeId: int32(),
      host: string(),
      port: int32(),
      rack: string({ nullableFrom: 0, default: null }),
    }),
    when,
  );

/** How every response of KIP-1279, and ours, begins. */
export const mirrorHead = {
  throttleTimeMs: int32({ default: 0 }),
  errorCode: int16({ default: 0 }),
  errorMessage: string({ nullableFrom: 0, default: null }),
} as const;
