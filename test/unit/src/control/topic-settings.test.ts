import { describe, expect, test } from 'vitest';
import {
  type ConfigEntry,
  givenBack,
  mirrorSettings,
  settingsDrift,
  sourceSettings,
  usesRemoteStorage,
} from '../../../../src/control/topic-settings.ts';

const set = (name: string, value: string): ConfigEntry => ({ name, value, isTopicOverride: true });
const byDefault = (name: string, value: string): ConfigEntry => ({ name, value, isTopicOverride: false });

describe('settings of a mirror topic', () => {
  test('only overrides of the source are kept; defaults come back as defaults', () => {
    const source = sourceSettings([
      set('retention.ms', '1000'),
      byDefault('retention.bytes', '5'),
      byDefault('cleanup.policy', 'delete'),
      set('min.insync.replicas', '2'),
    ]);
    expect([...source.overrides]).toEqual([['retention.ms', '1000']]);
    const back = Object.fromEntries(givenBack(source.overrides, []).map(({ name, value }) => [name, value]));
    expect(back).toMatchObject({ 'retention.ms': '1000', 'retention.bytes': null, 'cleanup.policy': null });
    expect(back).not.toHaveProperty('min.insync.replicas');
  });

  test('given back is what a mirror had set; what somebody else set stays', () => {
    const set7 = new Map([['retention.ms', '7']]);
    const names = (actual: ConfigEntry[]) => givenBack(set7, actual).map(({ name }) => name);
    expect(names([set('retention.ms', '-1')])).toContain('retention.ms');
    expect(names([byDefault('retention.ms', '604800000')])).toContain('retention.ms');
    expect(names([set('retention.ms', '86400000')])).not.toContain('retention.ms');
    expect(names([set('cleanup.policy', 'delete,compact')])).toContain('cleanup.policy');
    expect(names([set('cleanup.policy', 'compact')])).not.toContain('cleanup.policy');
    expect(names([set('max.message.bytes', '5000000')])).toContain('max.message.bytes');
  });

  test('the largest batch of the source fits, whether its limit is an override or a default', () => {
    const source = sourceSettings([byDefault('max.message.bytes', '9000000')]);
    expect(mirrorSettings(source, false).get('max.message.bytes')).toBe('9000000');
    expect(source.overrides.size).toBe(0);
  });

  test('a compacting source: delete while it is filled, both afterwards', () => {
    const source = sourceSettings([set('cleanup.policy', 'compact')]);
    expect(mirrorSettings(source, false).get('cleanup.policy')).toBe('delete');
    expect(mirrorSettings(source, true).get('cleanup.policy')).toBe('compact,delete');
  });

  test('drift is what differs; a raised max.message.bytes and another order of policies are none', () => {
    const wanted = mirrorSettings(sourceSettings([set('cleanup.policy', 'compact')]), true);
    const actual = [...wanted].map(([name, value]) => set(name, value));
    expect(settingsDrift(wanted, actual)).toEqual([]);
    const drifted = [
      ...actual.filter(({ name }) => !['retention.ms', 'max.message.bytes', 'cleanup.policy'].includes(name)),
      set('retention.ms', '1000'),
      set('max.message.bytes', '99000000'),
      set('cleanup.policy', 'delete, compact'),
    ];
    expect(settingsDrift(wanted, drifted)).toEqual([{ name: 'retention.ms', value: '-1' }]);
  });

  test('tiered storage is seen', () => {
    expect(usesRemoteStorage([set('remote.storage.enable', 'true')])).toBe(true);
    expect(usesRemoteStorage([byDefault('remote.storage.enable', 'false')])).toBe(false);
    expect(usesRemoteStorage([])).toBe(false);
  });
});
