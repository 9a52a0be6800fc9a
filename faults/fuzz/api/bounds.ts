/** Bounds on the time of an answer: relative to what the operation takes here and now when it is asked something plain. */
import type { Operation } from '../description.ts';
import type { FuzzStage } from '../stage.ts';
import { wireOf } from './requests.ts';
import type { World } from './world.ts';

const TRIES = 5;
/** No bound is shorter, ms: a machine looks away that long. */
const BOUND_MS_MIN = 1000;
/** So many times the median of plain questions. */
const TIMES = 25;

/** ms, by operation. */
export type Bounds = ReadonlyMap<string, number>;

export async function measureBounds(stage: FuzzStage, operations: readonly Operation[], world: World): Promise<Bounds> {
  const bounds = new Map<string, number>();
  for (const operation of operations) {
    const { operationId } = operation;
    const credential = operation.description.includes('an operator session')
      ? 'owner'
      : operation.description.includes('a user token')
        ? 'ada'
        : 'all';
    const wire = wireOf({ operationId, credential, about: 'ada', changes: [] }, operation, world);
    const times: number[] = [];
    for (let i = 0; i < TRIES && wire !== null; i++) {
      const { method, path, headers, body } = wire;
      times.push((await stage.ask(method, path, { headers, body })).ms);
    }
    const median = times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
    bounds.set(operationId, Math.max(BOUND_MS_MIN, TIMES * median));
  }
  return bounds;
}
