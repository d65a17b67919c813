import type { DecodeTable } from '../decode-table.ts';
import { mirrorProduceRule } from '../mirror-role.ts';
import type { ApiRule } from '../rule.ts';
import { addPartitionsToTxnRule } from './add-partitions-to-txn.ts';
import { alterConfigsRule, incrementalAlterConfigsRule } from './alter-configs.ts';
import { apiVersionsRule } from './api-versions.ts';
import { createPartitionsRule } from './create-partitions.ts';
import { deleteRecordsRule } from './delete-records.ts';
import { deleteTopicsRule } from './delete-topics.ts';
import { describeClusterRule } from './describe-cluster.ts';
import { fetchRule } from './fetch.ts';
import { findCoordinatorRule } from './find-coordinator.ts';
import { metadataRule } from './metadata.ts';
import { produceRule } from './produce.ts';
import { verbRules } from './verbs.ts';
import { writeTxnMarkersRule } from './write-txn-markers.ts';

/**
 * The active rules of a gateway. A new API to rewrite is one file here and one line below; everything that no rule
 * names passes unread. ApiVersions needs the table that is built from the rules, hence the two steps.
 */
export function rulesFor(role: 'client' | 'mirror'): (table: () => DecodeTable) => readonly ApiRule[] {
  return (table) => [
    role === 'mirror' ? mirrorProduceRule : produceRule,
    fetchRule,
    metadataRule,
    findCoordinatorRule,
    apiVersionsRule(table),
    describeClusterRule,
    addPartitionsToTxnRule,
    createPartitionsRule,
    deleteTopicsRule,
    deleteRecordsRule,
    writeTxnMarkersRule,
    alterConfigsRule,
    incrementalAlterConfigsRule,
    ...verbRules,
  ];
}
