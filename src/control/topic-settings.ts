/**
 * The topic settings that make a destination topic store what the source stored (DESIGN 5.2), and their way back
 * to the source's values at STOPPED.
 *
 * A value of `null` is "not set on the topic": the broker's default holds. Given back, it removes the override.
 */

export type TopicConfigs = ReadonlyMap<string, string>;
/** One step of IncrementalAlterConfigs. */
export interface ConfigChange {
  readonly name: string;
  /** null removes the override. */
  readonly value: string | null;
}

const unlimited = '9223372036854775807';

/** Settings of 5.2 that Isthmus owns until STOPPED. `remote.storage.enable` is only ever checked, never set. */
export const ownedSettings = [
  'compression.type',
  'message.timestamp.type',
  'message.timestamp.before.max.ms',
  'message.timestamp.after.max.ms',
  'max.message.bytes',
  'retention.ms',
  'retention.bytes',
  'cleanup.policy',
] as const;

/** Broker default of `max.message.bytes`, used when a source shows none. */
const defaultMaxMessageBytes = 1_048_588;

/** What the source says about these settings: only overrides set on the topic, plus the effective values. */
export interface SourceSettings {
  /** Overrides set on the source topic itself, to be given back at STOPPED. */
  readonly overrides: TopicConfigs;
  /** Effective value of max.message.bytes. */
  readonly maxMessageBytes: number;
  /** true when the effective cleanup.policy names compact. */
  readonly compacts: boolean;
}

/** Reads what 5.2 needs from the entries of a source topic's DescribeConfigs. */
export function sourceSettings(entries: Iterable<ConfigEntry>): SourceSettings {
  const overrides = new Map<string, string>();
  let maxMessageBytes = defaultMaxMessageBytes;
  let compacts = false;
  for (const { name, value, isTopicOverride } of entries) {
    if (value === null) continue;
    if (name === 'max.message.bytes') maxMessageBytes = Number(value);
    if (name === 'cleanup.policy') compacts = value.split(',').some((policy) => policy.trim() === 'compact');
    if (isTopicOverride && (ownedSettings as readonly string[]).includes(name)) overrides.set(name, value);
  }
  return { overrides, maxMessageBytes, compacts };
}

export interface ConfigEntry {
  readonly name: string;
  readonly value: string | null;
  /** Set on the topic itself (DYNAMIC_TOPIC_CONFIG), not a default. */
  readonly isTopicOverride: boolean;
}

/**
 * The settings while the topic is mirrored.
 * @param aligned false during LOG_ALIGNMENT: a compacting cleaner must not run over a log that is being filled
 */
export function mirrorSettings(source: SourceSettings, aligned: boolean): Map<string, string> {
  return new Map([
    ['compression.type', 'producer'],
    ['message.timestamp.type', 'CreateTime'],
    ['message.timestamp.before.max.ms', unlimited],
    ['message.timestamp.after.max.ms', unlimited],
    ['max.message.bytes', String(source.maxMessageBytes)],
    ['retention.ms', '-1'],
    ['retention.bytes', '-1'],
    ['cleanup.policy', aligned && source.compacts ? 'compact,delete' : 'delete'],
  ]);
}

/**
 * What has to be changed so that `wanted` holds. A higher `max.message.bytes` is left alone: it was raised for a
 * batch that needs it.
 */
export function settingsDrift(wanted: TopicConfigs, actual: Iterable<ConfigEntry>): ConfigChange[] {
  const seen = new Map<string, string | null>();
  for (const entry of actual) seen.set(entry.name, entry.value);
  const changes: ConfigChange[] = [];
  for (const [name, value] of wanted) {
    const now = seen.get(name) ?? null;
    if (now === value) continue;
    if (name === 'max.message.bytes' && now !== null && Number(now) >= Number(value)) continue;
    if (name === 'cleanup.policy' && now !== null && samePolicies(now, value)) continue;
    changes.push({ name, value });
  }
  return changes;
}

function samePolicies(a: string, b: string): boolean {
  const sorted = (text: string) =>
    text
      .split(',')
      .map((policy) => policy.trim())
      .sort()
      .join(',');
  return sorted(a) === sorted(b);
}

/** Tiered storage would hand the log's old part to a store that Isthmus can't check: refused by name. */
export function usesRemoteStorage(actual: Iterable<ConfigEntry>): boolean {
  for (const entry of actual) if (entry.name === 'remote.storage.enable') return entry.value === 'true';
  return false;
}

/**
 * The way back at STOPPED: the source's override, or none where the source had none. A value on the topic that no mirror
 * sets is somebody else's, set since or never ours, and stays.
 */
export function givenBack(overrides: TopicConfigs, actual: Iterable<ConfigEntry>): ConfigChange[] {
  const theirs = new Set<string>();
  for (const { name, value, isTopicOverride } of actual) {
    if (isTopicOverride && value !== null && !isOfAMirror(name, value)) theirs.add(name);
  }
  return ownedSettings
    .filter((name) => !theirs.has(name))
    .map((name) => ({ name, value: overrides.get(name) ?? null }));
}

function isOfAMirror(name: string, value: string): boolean {
  // Raised to whatever a batch needed.
  if (name === 'max.message.bytes') return true;
  return setByMirrors.some((settings) => {
    const ours = settings.get(name);
    return ours === value || (name === 'cleanup.policy' && samePolicies(ours ?? '', value));
  });
}

const setByMirrors = [true, false].map((compacts) =>
  mirrorSettings({ overrides: new Map(), maxMessageBytes: defaultMaxMessageBytes, compacts }, true),
);
