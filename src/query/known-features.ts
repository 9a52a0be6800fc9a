/** Checks feature names against those that this release computes and those that are stored. */
import { build, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { PipelineError } from '../errors.ts';
import type { MethodDescription } from './biosignal-routes.ts';

/** Names of the features that this release computes. */
export function computedFeatures(methods: readonly MethodDescription[]): ReadonlySet<string> {
  return new Set(methods.flatMap(({ kind, feature }) => (kind === 'feature' ? [feature] : [])));
}

/** @throws PipelineError not_found naming the unknown ones: an empty answer would look like a recording without values */
export async function needFeatures(db: Db, computed: ReadonlySet<string>, names: readonly string[]): Promise<void> {
  const others = names.filter((name) => !computed.has(name));
  if (others.length === 0) return;
  const features = build.selectFrom('method').select('name').distinct().where('kind', '=', 'feature').where('name', 'in', others);
  const { rows } = await run(db, features);
  const stored = new Set(rows.map(({ name }) => name));
  const unknown = others.filter((name) => !stored.has(name));
  if (unknown.length > 0)
    throw new PipelineError('not_found', `There is no feature ${unknown.join(', ')}; GET /api/v1/methods names those there are.`);
}
