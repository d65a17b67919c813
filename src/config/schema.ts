import { z } from 'zod';

/**
 * Shape of the YAML file: names, kinds and defaults. What needs more than one place to judge (unknown clusters,
 * overlapping ports) stands in the files that end in -rules. `docs/CONFIG.md` describes every key for people.
 */
const name = z
  .string()
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$/, 'a name has 1 to 100 letters, digits, ".", "_" or "-"');
const positive = z.int().min(1);
const milliseconds = z.int().min(1);
const millisecondsOrNever = z.int().min(0);
const property = z.union([z.string(), z.number(), z.boolean()]);
const numbers = z
  .union([z.string(), z.number(), z.array(z.union([z.string(), z.number()]))])
  .describe('a list of numbers such as 1-3 or "1,2,5"');
const hostAndPort = z.string().describe('host:port');

/** Faults never repeat what stands there. */
export const secretText = z.string().describe('a reference, ${file:PATH} or ${env:NAME}');

const MIB = 1024 * 1024;

const choice = z.strictObject({
  include: z.array(z.string()).default([]),
  exclude: z.array(z.string()).default([]),
});

export const linkSchema = z.strictObject({
  fetchers: z.int().min(1).max(64).optional(),
  bufferBytes: z.int().min(MIB).optional(),
  fetchMaxBytes: z.int().min(1024).optional(),
  fetchMaxWaitMs: z.int().min(1).max(30_000).optional(),
  maxRequestBytes: z.int().min(1024).optional(),
  maxBytesPerSecond: z.number().optional(),
});

export const appendSchema = z.strictObject({
  produceTimeoutMs: milliseconds.optional(),
  readBackTimeoutMs: milliseconds.optional(),
  silenceMs: milliseconds.optional(),
  markerStillMs: milliseconds.optional(),
  ioThreads: z.int().min(1).max(1_000).optional(),
  moveLeadership: z.boolean().optional(),
  taintHold: z.union([z.string(), z.number()]).optional(),
});

export const gatewaySchema = z.strictObject({
  name,
  cluster: z.string(),
  role: z.enum(['client', 'mirror']).default('client'),
  mirror: z.string().optional(),
  bind: hostAndPort,
  advertise: z.string().optional(),
  nodeIds: numbers,
  brokerPorts: numbers,
  readOnlyError: z.enum(['policy-violation', 'read-only-topic']).default('policy-violation'),
  limits: z
    .strictObject({
      maxFrameBytes: z
        .int()
        .min(1024)
        .max(1024 * MIB)
        .optional(),
      maxConnectionsPerAddress: z.int().min(0).optional(),
      connectTimeoutMs: milliseconds.optional(),
      idleTimeoutMs: millisecondsOrNever.optional(),
      delayedCloseMs: millisecondsOrNever.optional(),
    })
    .optional(),
  tls: z.unknown().optional(),
  sasl: z.unknown().optional(),
  virtual: z.unknown().optional(),
});

export const mirrorSchema = z.strictObject({
  name,
  source: z.string(),
  destination: z.string(),
  topics: z.strictObject({
    include: z.array(z.string()),
    exclude: z.array(z.string()).default([]),
    'replication.factor': z.int().min(1).max(32_767).optional(),
  }),
  groups: choice.optional(),
  copier: z.enum(['link', 'external']).default('link'),
  link: linkSchema.optional(),
  append: appendSchema.optional(),
  acls: z.unknown().optional(),
  lineage: z.enum(['checked', 'unchecked']).optional(),
});

export const configSchema = z.strictObject({
  clusters: z.record(z.string(), z.record(z.string(), property)),
  gateways: z.array(gatewaySchema).default([]),
  mirrors: z.array(mirrorSchema).default([]),
  admin: z.strictObject({ bind: hostAndPort, token: secretText.optional() }).optional(),
  state: z
    .strictObject({
      topic: z.string().optional(),
      partitions: z.int().min(1).max(10_000).optional(),
      'replication.factor': positive.max(32_767).optional(),
    })
    .optional(),
  link: linkSchema.optional(),
  append: appendSchema.optional(),
  gaps: z.strictObject({ maxMarkers: z.int().min(0).optional() }).optional(),
});

export const adminSchema = configSchema.shape.admin.unwrap();
export const stateSchema = configSchema.shape.state.unwrap();

export type GatewayInput = z.output<typeof gatewaySchema>;
export type MirrorInput = z.output<typeof mirrorSchema>;
export type LinkInput = z.output<typeof linkSchema>;
export type AppendInput = z.output<typeof appendSchema>;

/** JSON Schema (draft 2020-12) for editors: `# yaml-language-server: $schema=...`. */
export function jsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(configSchema, { io: 'input' }) as Record<string, unknown>;
}
