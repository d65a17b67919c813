import { withoutUndefined } from './gateway-rules.ts';
import type { AppendInput, LinkInput, MirrorInput } from './schema.ts';
import type { AppendConfig, LinkConfig, MirrorConfig } from './types.ts';

const MIB = 1024 * 1024;

export const linkDefaults: LinkConfig = {
  fetchers: 1,
  bufferBytes: 24 * MIB,
  fetchMaxBytes: 4 * MIB,
  fetchMaxWaitMs: 500,
  maxRequestBytes: 8 * MIB,
};

export const appendDefaults: AppendConfig = {
  produceTimeoutMs: 30_000,
  readBackTimeoutMs: 2_000,
  silenceMs: 60_000,
  markerStillMs: 2_000,
  ioThreads: 8,
};

/** A mirror of the file with the defaults of the file and of ours. */
export function buildMirror(mirror: MirrorInput, link: LinkInput, append: AppendInput): MirrorConfig {
  return {
    name: mirror.name,
    source: mirror.source,
    destination: mirror.destination,
    topics: { include: mirror.topics.include, exclude: mirror.topics.exclude },
    replicationFactor: mirror.topics['replication.factor'] ?? null,
    groups: mirror.groups ?? { include: [], exclude: [] },
    copier: mirror.copier,
    link: buildLink(link, mirror.link ?? {}),
    append: buildAppend(append, mirror.append ?? {}),
  };
}

/** Later ones win; what comes later in the other sense was refused before. */
export function buildLink(...inputs: readonly LinkInput[]): LinkConfig {
  const { maxBytesPerSecond: _rate, ...given } = Object.assign(
    {},
    ...inputs.map(withoutUndefined),
  ) as LinkInput;
  return { ...linkDefaults, ...withoutUndefined(given) };
}

export function buildAppend(...inputs: readonly AppendInput[]): AppendConfig {
  const {
    moveLeadership: _move,
    taintHold: _hold,
    ...given
  } = Object.assign({}, ...inputs.map(withoutUndefined)) as AppendInput;
  return { ...appendDefaults, ...withoutUndefined(given) };
}
