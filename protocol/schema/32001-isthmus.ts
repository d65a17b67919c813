/**
 * Our own API, key 32001: a verb, plan or progress question as JSON, and its answer as JSON. Listed only to clients
 * whose software name is `isthmus`. Source: docs/DESIGN.md.
 */

import { defineApi, type RequestInput, type RequestOf, type ResponseInput, type ResponseOf } from './api.ts';
import { mirrorHead } from './common.ts';
import { string } from './notation.ts';

export const isthmusApi = defineApi({
  key: 32001,
  name: 'Isthmus',
  versions: [0, 0],
  flexibleFrom: 0,

  request: { json: string({ nullableFrom: 0, default: null }) },
  response: { ...mirrorHead, json: string({ nullableFrom: 0, default: null }) },
});

export type IsthmusRequest = RequestOf<typeof isthmusApi>;
export type IsthmusRequestInput = RequestInput<typeof isthmusApi>;
export type IsthmusResponse = ResponseOf<typeof isthmusApi>;
export type IsthmusResponseInput = ResponseInput<typeof isthmusApi>;
