import { errorName } from '../../../protocol/errors.ts';
import { encodeResponse } from '../../../protocol/frame/messages.ts';
import type { Api } from '../../../protocol/schema/index.ts';
import { type Judgement, NOT_ATTEMPTED, publishRefusal, type Refusal } from '../guard.ts';
import type { RequestSeen, Verdict } from '../rule.ts';
import { FORWARD } from './common.ts';

/**
 * An administrative request of which one entry names a mirror topic is refused whole: every entry gets an error, the
 * mirror's own the reason, the rest "not attempted". Half of such a request done would be a surprise either way.
 */
export interface Entry<T> {
  readonly entry: T;
  readonly judgement: Judgement;
}

export interface EntryError {
  readonly errorCode: number;
  readonly errorMessage: string;
}

export function refuseWhole<T, D, I>(
  api: Api<unknown, never, D, I>,
  request: RequestSeen,
  entries: readonly Entry<T>[],
  answer: (errors: readonly (T & EntryError)[]) => I,
): Verdict {
  const refusals = entries.flatMap(({ judgement }): Refusal[] =>
    judgement === undefined ? [] : [judgement],
  );
  const [first] = refusals;
  if (first === undefined) return FORWARD;
  const { apiVersion, correlationId, clientId } = request.header;
  publishRefusal(
    request.config,
    { clientAddress: request.clientAddress, clientId },
    api.name,
    errorName(first.code),
    refusals,
  );
  const errors = entries.map(({ entry, judgement }) => {
    const { code, message } = judgement ?? NOT_ATTEMPTED;
    return { ...entry, errorCode: code, errorMessage: message };
  });
  return { kind: 'answer', chunks: [encodeResponse(api, apiVersion, correlationId, answer(errors))] };
}
