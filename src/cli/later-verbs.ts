/** Verbs of the design that this version does not have: refused by name, never half done. */
export const LATER_VERBS: Readonly<Record<string, string>> = {
  pause: 'pause comes later; stop is the only way to end mirroring now',
  resume: 'resume comes later, with pause',
  recover: 'recover comes later; FAILED partitions that can be retried are retried by themselves',
  promote: 'promote comes later; wait for lag 0 with writers stopped, then use failover',
  reverse: 'reverse comes later',
  rebuild: 'rebuild comes later',
  'truncate-and-restore': 'truncate-and-restore comes later',
  switch: 'switch comes later, with virtual clusters',
};
