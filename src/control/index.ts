/** Control's interface: what app.ts opens, and what admin and the command line may know of it. */
export { type OpenControlOptions, openControl } from './open-control.ts';
export type { ControlStatus, DestinationControl, MirrorStatus } from './destination-control.ts';
export type { DescribeRow } from './describe.ts';
export type { LossReport } from './loss.ts';
export type { MirrorEntry } from './yaml-mirrors.ts';
export type { JsonAnswer, JsonError } from './json-verbs.ts';
export { LateControl } from './late-control.ts';
export { StateUnusable } from './state/types.ts';
