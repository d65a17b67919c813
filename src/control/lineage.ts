import type { SourceSession } from './ports.ts';

/** Topics that the source itself mirrors from us: mirroring them back would be a loop. */
export interface Lineage {
  readonly topics: ReadonlySet<string>;
  /** What could not be found out. */
  readonly notes: readonly string[];
}

/**
 * Reads the source's own state topic, if it has one. Found is the loop of two clusters, per topic; STOPPED topics
 * don't count. A longer loop (A to B to C to A) stands in no single state topic and is not found here.
 */
export async function findLoops(session: SourceSession, destinationClusterId: string): Promise<Lineage> {
  try {
    const mirrored = await session.mirroredTopics();
    const topics = mirrored
      .filter((topic) => topic.active && topic.sourceClusterId === destinationClusterId)
      .map(({ topic }) => topic);
    return { topics: new Set(topics), notes: [] };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      topics: new Set(),
      notes: [`whether ${session.admin.name} mirrors these topics from here is not known: ${reason}`],
    };
  }
}
