export { formatHostPort, type HostPort, parseBootstrapServers, parseHostPort } from './address.ts';
export type { ClientProperties } from './client-properties.ts';
export { load, loadText } from './load.ts';
export { jsonSchema } from './schema.ts';
export { Secret } from './secret.ts';
export * from './types.ts';
