import type { LongOptions } from '../service/run.ts';
export async function fuzzApi(_options: LongOptions): Promise<number> { return await Promise.resolve(0); }
