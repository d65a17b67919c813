import { known, type PartitionRow } from './rows.ts';

/** The tables of `kafka-cluster-mirrors.sh` (KIP-1279): columns of fixed width, for scripts that cut them. */
export function listTable(
  mirrors: readonly {
    readonly mirrorName: string;
    readonly topicCount: number;
    readonly sourceClusterId: string;
    readonly sourceBootstrap: string;
  }[],
): string {
  const line = fixed([30, 10, 26, 50]);
  const head = line(['MIRROR', 'TOPICS', 'SOURCE-CLUSTER-ID', 'SOURCE-BOOTSTRAP-SERVER']);
  const body = mirrors.map(({ mirrorName, topicCount, sourceClusterId, sourceBootstrap }) =>
    line([mirrorName, String(topicCount), sourceClusterId, sourceBootstrap]),
  );
  return [head, ...body].join('');
}

export function describeTable(rows: readonly PartitionRow[]): string {
  const line = fixed([30, 40, 10, 15, 18, 10, 12]);
  const head = line(['MIRROR', 'TOPIC', 'PARTITION', 'SOURCE-OFFSET', 'DESTINATION-OFFSET', 'LAG', 'STATE']);
  const body = rows.map((row) =>
    line([
      row.mirror,
      row.topic,
      String(row.partition),
      known(row.sourceOffset),
      known(row.destinationOffset),
      known(row.lag),
      row.state,
    ]),
  );
  return [head, ...body].join('');
}

export function failedTable(rows: readonly PartitionRow[]): string {
  const line = fixed([30, 40, 10, 12, 80]);
  const head = line(['MIRROR', 'TOPIC', 'PARTITION', 'RETRY', 'ERROR']);
  const body = rows.map((row) => {
    const retry = row.retryAttempt < 0 ? 'NonRetryable' : String(row.retryAttempt);
    return line([row.mirror, row.topic, String(row.partition), retry, (row.errorMessage ?? '').slice(0, 80)]);
  });
  return [head, ...body].join('');
}

/** Left-aligned columns of fixed width; longer cells lose their beginning. */
function fixed(widths: readonly number[]): (cells: readonly string[]) => string {
  return (cells) => {
    const parts = cells.map((cell, at) => {
      const width = widths[at] ?? cell.length;
      return (cell.length > width ? `...${cell.slice(cell.length - width + 3)}` : cell).padEnd(width);
    });
    return `${parts.join(' ').trimEnd()}\n`;
  };
}
