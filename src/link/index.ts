/** The link's interface: what control may import. */
export { DestinationLog } from './destination-log.ts';
export { LinkFailureError } from './failure.ts';
export { MirrorLink, type MirrorLinkOptions, type RemovedPartition } from './mirror-link.ts';
export { type CompareOptions, type TailComparison, compareTail } from './compare-tail.ts';
export { type LinkSettings, defaultLinkSettings } from './settings.ts';
export type { EndReading } from './end-reader.ts';
export type * from './ports.ts';
export { tellUnclear } from './unclear.ts';
