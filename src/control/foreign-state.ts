import { ErrorCode, stockErrorName } from '../../protocol/errors.ts';
import type { Cluster } from '../net/cluster.ts';
import { isAllStopped } from './configs-task.ts';
import { AdminError, type MirroredTopic } from './ports.ts';
import { rightsAdvice } from './rights-advice.ts';
import { StateReader } from './state/state-reader.ts';
import { ReplayedView } from './state/view.ts';

const deadlineMs = 10_000;

export interface ForeignTopic extends MirroredTopic {
  readonly mirror: string;
}

/**
 * The topics that another Isthmus mirrors into a cluster, read once from its state topic.
 * @throws AdminError when there is a state topic that can't be read
 */
export async function readForeignState(
  cluster: Cluster,
  stateTopic: string,
): Promise<readonly ForeignTopic[]> {
  await cluster.refresh([stateTopic]);
  const found = cluster.topic(stateTopic);
  if (found === undefined || found.errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) return [];
  if (found.errorCode !== ErrorCode.NONE) {
    const advice = rightsAdvice(found.errorCode, stateTopic, 'READ,DESCRIBE');
    throw new AdminError(
      `${stateTopic} of ${cluster.name}: ${stockErrorName(found.errorCode)}${advice}`,
      found.errorCode,
      false,
    );
  }
  const partitions = found.partitions.length;
  const view = new ReplayedView(partitions);
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), deadlineMs);
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  const reader = new StateReader({
    cluster,
    topic: stateTopic,
    topicId: found.topicId,
    partitions,
    signal: abort.signal,
    onRecord: (partition, { key, value }) => {
      if (key !== null) view.apply(partition, key.toString('utf8'), value);
    },
    onBatchEnd: () => undefined,
    onFailed: (error) => failure.reject(error),
  });
  try {
    reader.hurry();
    reader.start();
    await Promise.race([reader.positions.allCaughtUp(performance.now()), failure.promise]);
  } catch (error) {
    const reason = abort.signal.aborted ? reader.positions.gaps() : (error as Error).message;
    throw new AdminError(`${stateTopic} of ${cluster.name} can't be read: ${reason}`, -1, true);
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
  return [...view.topics.values()].flatMap((topic) => {
    const mirror = topic.mirror === null ? undefined : view.mirrors.get(topic.mirror);
    if (mirror === undefined) return [];
    const active = topic.desired !== 'STOPPED' || !isAllStopped(view, topic);
    return [{ topic: topic.topic, mirror: mirror.name, sourceClusterId: mirror.sourceClusterId, active }];
  });
}
