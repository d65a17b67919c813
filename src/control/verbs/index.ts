import { planCreate } from './create.ts';
import { planDelete } from './delete.ts';
import { planStart } from './start.ts';
import { planStop } from './stop.ts';
import type { Plan, VerbRequest, VerbWorld } from './types.ts';

/** Where a new verb is added: its name in types.ts, its plan in a file of its own, one line here. */
export async function planVerb(world: VerbWorld, request: VerbRequest): Promise<Plan> {
  switch (request.verb) {
    case 'create':
      return planCreate(world, request);
    case 'start':
      return planStart(world, request);
    case 'stop':
    case 'failover':
      return planStop(world, request);
    case 'delete':
      return planDelete(world, request);
  }
}
