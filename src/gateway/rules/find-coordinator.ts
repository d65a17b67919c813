import { ErrorCode } from '../../../protocol/errors.ts';
import { decodeResponse, encodeResponse } from '../../../protocol/frame/messages.ts';
import { findCoordinatorApi } from '../../../protocol/schema/10-find-coordinator.ts';
import type { NodeMap } from '../node-map.ts';
import type { ApiRule, ResponseSeen } from '../rule.ts';
import { correlationIdOf } from './common.ts';

/**
 * FindCoordinator: each key's answer for itself (case P16). One that carries an error names no node and stays as it is;
 * a coordinator without an address of ours is COORDINATOR_NOT_AVAILABLE, which clients retry.
 */
export const findCoordinatorRule: ApiRule = {
  key: findCoordinatorApi.key,
  versions: [findCoordinatorApi.min, findCoordinatorApi.max],
  response: { from: 0, run: rewrite },
};

interface Coordinator {
  nodeId: number;
  host: string;
  port: number;
  errorCode: number;
  errorMessage: string | null;
}

function rewrite({ frame, apiVersion, nodes }: ResponseSeen): Uint8Array[] {
  const body = decodeResponse(findCoordinatorApi, apiVersion, frame);
  if (apiVersion < 4) readdress(body, nodes);
  for (const coordinator of body.coordinators) readdress(coordinator, nodes);
  return [encodeResponse(findCoordinatorApi, apiVersion, correlationIdOf(frame), body)];
}

function readdress(coordinator: Coordinator, nodes: NodeMap): void {
  if (coordinator.errorCode !== ErrorCode.NONE) {
    // a broker gives no address with an error; if one does, it is none of ours
    coordinator.host = '';
    coordinator.port = -1;
    coordinator.nodeId = -1;
    return;
  }
  const address = nodes.addressOf(coordinator.nodeId);
  if (address !== undefined) {
    coordinator.host = address.host;
    coordinator.port = address.port;
    return;
  }
  const { nodeId } = coordinator;
  coordinator.errorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE;
  coordinator.errorMessage = `the coordinator is broker ${nodeId}, which has no port in this gateway`;
  coordinator.nodeId = -1;
  coordinator.host = '';
  coordinator.port = -1;
}
