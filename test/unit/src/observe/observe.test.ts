import { afterEach, describe, expect, test } from 'vitest';
import * as channels from '../../../../src/observe/channels.ts';
import { createLog, logChannels } from '../../../../src/observe/log.ts';
import { Metrics } from '../../../../src/observe/metrics.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

describe('log', () => {
  test('JSON lines for machines', () => {
    const lines: string[] = [];
    ends.push(logChannels(createLog({ level: 'info', style: 'json', sink: (line) => lines.push(line) })));
    channels.partitionStateChanged.publish({
      mirror: 'm',
      topic: 't',
      partition: 3,
      from: 'MIRRORING',
      to: 'FAILED',
      error: 'gap',
    });
    channels.connectionOpened.publish({ side: 'client', peer: 'x:1', owner: 'g' });
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 50, msg: 't-3 is FAILED', mirror: 'm', partition: 3, error: 'gap' },
    ]);
  });

  test('readable lines for a terminal, levels below are left out', () => {
    const lines: string[] = [];
    ends.push(logChannels(createLog({ level: 'info', style: 'text', sink: (line) => lines.push(line) })));
    channels.lifecycle.publish({
      level: 'warn',
      message: 'source is away',
      fields: { cluster: 'east', why: 'no route', empty: '' },
    });
    channels.connectionClosed.publish({
      side: 'client',
      peer: '1.2.3.4:5',
      owner: 'g',
      cause: 'tls-bytes',
      detail: '',
    });
    channels.connectionClosed.publish({
      side: 'client',
      peer: '1.2.3.4:5',
      owner: 'g',
      cause: 'peer-closed',
      detail: '',
    });
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d WARN {2}source is away {2}cluster=east why="no route"\n$/);
    expect(lines[1]).toMatch(/WARN {2}connection ended: tls-bytes {2}side=client/);
  });

  test('ends with its subscription', () => {
    const lines: string[] = [];
    logChannels(createLog({ level: 'debug', style: 'text', sink: (line) => lines.push(line) }))();
    channels.lifecycle.publish({ level: 'error', message: 'unheard' });
    expect(lines).toEqual([]);
    expect(channels.lifecycle.hasSubscribers).toBe(false);
  });
});

describe('metrics', () => {
  test('channels are counted by name and label', async () => {
    const metrics = new Metrics({ processMetrics: false });
    ends.push(() => metrics.close());
    metrics.watchChannels();
    for (let i = 0; i < 3; i += 1) {
      channels.connectionClosed.publish({
        side: 'client',
        peer: 'p',
        owner: 'west',
        cause: 'oversize-frame',
        detail: '',
      });
    }
    channels.audit.publish({
      verb: 'failover',
      mirror: 'm',
      topics: null,
      clientAddress: 'a',
      clientId: null,
      dryRun: false,
      outcome: 'done',
      message: null,
    });
    const text = await metrics.render();
    expect(text).toContain(
      'isthmus_connections_closed_total{side="client",owner="west",cause="oversize-frame"} 3',
    );
    expect(text).toContain('isthmus_verbs_total{verb="failover",outcome="done"} 1');
    expect(await metrics.render()).toBe(text);
  });

  test('partitions are asked for when somebody looks; what is not known is left out', async () => {
    const metrics = new Metrics({ processMetrics: false });
    ends.push(() => metrics.close());
    let lag = 5;
    metrics.watchPartitions(() => [
      {
        mirror: 'm',
        topic: 't',
        partition: 0,
        state: 'MIRRORING',
        sourceOffset: 10,
        destinationOffset: 5,
        lag,
        held: 0,
        requestAgeMs: 1_500,
        counts: { dataBytes: 7 },
        directWriters: ['User:app', 'User:etl'],
      },
      {
        mirror: 'm',
        topic: 't',
        partition: 1,
        state: 'STOPPED',
        sourceOffset: -1,
        destinationOffset: -1,
        lag: -1,
        held: 0,
        requestAgeMs: 0,
        counts: null,
      },
    ]);
    const text = await metrics.render();
    expect(text).toContain('isthmus_partition_lag_offsets{mirror="m",topic="t",partition="0"} 5');
    expect(text).toContain(
      'isthmus_mirror_topic_direct_writer{mirror="m",topic="t",principal="User:app"} 1\n' +
        'isthmus_mirror_topic_direct_writer{mirror="m",topic="t",principal="User:etl"} 1\n',
    );
    expect(text).not.toContain('isthmus_partition_lag_offsets{mirror="m",topic="t",partition="1"}');
    expect(text).toContain('isthmus_partition_state{mirror="m",topic="t",partition="1",state="STOPPED"} 1');
    expect(text).toContain('isthmus_partition_append_age_seconds{mirror="m",topic="t",partition="0"} 1.5');
    expect(text).toContain(
      'isthmus_partition_appended{mirror="m",topic="t",partition="0",kind="dataBytes"} 7',
    );
    lag = 0;
    expect(await metrics.render()).toContain(
      'isthmus_partition_lag_offsets{mirror="m",topic="t",partition="0"} 0',
    );
  });

  test('a slot is one number that hot code adds to', async () => {
    const metrics = new Metrics({ processMetrics: false });
    ends.push(() => metrics.close());
    const slot = metrics.counter('isthmus_frames_total', 'Frames.', ['gateway']).slot('west');
    slot.value += 41;
    slot.value += 1;
    expect(await metrics.render()).toContain('isthmus_frames_total{gateway="west"} 42');
  });
});
