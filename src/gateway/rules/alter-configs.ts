import { decodeRequest } from '../../../protocol/frame/messages.ts';
import { alterConfigsApi } from '../../../protocol/schema/33-alter-configs.ts';
import { incrementalAlterConfigsApi } from '../../../protocol/schema/44-incremental-alter-configs.ts';
import { judgeSettings } from '../guard.ts';
import type { ApiRule, RequestSeen, Verdict } from '../rule.ts';
import { whenLoaded } from './common.ts';
import { refuseWhole } from './refuse-whole.ts';

/** AlterConfigs and IncrementalAlterConfigs: the settings of a mirror topic (DESIGN 5.2) are what keeps copies exact. */
const TOPIC_RESOURCE = 2;

export const alterConfigsRule: ApiRule = {
  key: alterConfigsApi.key,
  versions: [alterConfigsApi.min, alterConfigsApi.max],
  request: { from: 0, run: (request) => whenLoaded(request.view, () => run(alterConfigsApi, request)) },
};

export const incrementalAlterConfigsRule: ApiRule = {
  key: incrementalAlterConfigsApi.key,
  versions: [incrementalAlterConfigsApi.min, incrementalAlterConfigsApi.max],
  request: {
    from: 0,
    run: (request) => whenLoaded(request.view, () => run(incrementalAlterConfigsApi, request)),
  },
};

function run(api: typeof alterConfigsApi | typeof incrementalAlterConfigsApi, request: RequestSeen): Verdict {
  const { header, frame } = request;
  const body = decodeRequest(api, header.apiVersion, frame, header.bodyOffset);
  const entries = body.resources.map(({ resourceType, resourceName }) => ({
    entry: { resourceType, resourceName },
    judgement: resourceType === TOPIC_RESOURCE ? judgeSettings(request, resourceName) : undefined,
  }));
  return refuseWhole(api, request, entries, (responses) => ({ responses }));
}
