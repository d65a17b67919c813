import { ErrorCode } from '../../../protocol/errors.ts';
import { decodeResponse, encodeResponse } from '../../../protocol/frame/messages.ts';
import { describeClusterApi } from '../../../protocol/schema/60-describe-cluster.ts';
import type { ApiRule, ResponseSeen } from '../rule.ts';
import { checkCluster, correlationIdOf } from './common.ts';

/** DescribeCluster: our address for each broker; one without an address is left out. Cluster and node ids are real. */
export const describeClusterRule: ApiRule = {
  key: describeClusterApi.key,
  versions: [describeClusterApi.min, describeClusterApi.max],
  response: { from: 0, run: rewrite },
};

function rewrite(response: ResponseSeen): Uint8Array[] {
  const { frame, apiVersion, nodes } = response;
  const body = decodeResponse(describeClusterApi, apiVersion, frame);
  if (body.errorCode === ErrorCode.NONE) checkCluster(response, body.clusterId);
  body.brokers = body.brokers.flatMap((broker) => {
    const address = nodes.addressOf(broker.brokerId);
    return address === undefined ? [] : [{ ...broker, host: address.host, port: address.port }];
  });
  if (!nodes.has(body.controllerId)) body.controllerId = -1;
  return [encodeResponse(describeClusterApi, apiVersion, correlationIdOf(frame), body)];
}
