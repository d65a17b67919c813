/**
 * DescribeAcls, key 29. Resource types: 1 any, 2 topic, 3 group, 4 cluster, 5 transactional id. Pattern types: 1 any, 2
 * whatever matches the name, 3 literal, 4 prefixed. Operations are those of AclOperation (1 any, 2 all, 4 write);
 * permissions: 1 any, 2 deny, 3 allow. Source: protocol guide; AclOperation and AclPermissionType of the Java client's documentation.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { array, int8, int16, int32, string, struct } from './notation.ts';

export const describeAclsApi = defineApi({
  key: 29,
  name: 'DescribeAcls',
  versions: [1, 3],
  flexibleFrom: 2,

  request: {
    resourceTypeFilter: int8(),
    resourceNameFilter: string({ nullableFrom: 1, default: null }),
    patternTypeFilter: int8({ default: 3 }),
    principalFilter: string({ nullableFrom: 1, default: null }),
    hostFilter: string({ nullableFrom: 1, default: null }),
    operation: int8(),
    permissionType: int8(),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ default: 0 }),
    errorMessage: string({ nullableFrom: 1, default: null }),
    resources: array(
      struct({
        resourceType: int8(),
        resourceName: string(),
        patternType: int8({ default: 3 }),
        acls: array(
          struct({ principal: string(), host: string(), operation: int8(), permissionType: int8() }),
        ),
      }),
    ),
  },
});

export type DescribeAclsRequest = RequestOf<typeof describeAclsApi>;
export type DescribeAclsRequestInput = RequestInput<typeof describeAclsApi>;
export type DescribeAclsResponse = ResponseOf<typeof describeAclsApi>;
export type DescribeAclsResponseInput = ResponseInput<typeof describeAclsApi>;
