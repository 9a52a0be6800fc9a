/** Did a test see the fault that was planted? Only what it asserts counts: a test that never ends, or breaks on the way, would fail with
 *  any fault that is bad enough. */

/** How a run of one test file ended. `why`: the first failure, of an assertion where one failed. */
export type TestAnswer = Readonly<{ passed: boolean; testCount: number; why: string; isAssertion: boolean }>;
export type Outcome = TestAnswer | 'timeout';

export const NO_ANSWER = 'it does not end, or takes the process of the tests along';

/** Of `expect`, of node:assert, or of a property of fast-check, whose counterexample may be one that throws. */
export function isAssertion({ name = '', message }: Readonly<{ name?: string; message: string }>): boolean {
  return name.includes('AssertionError') || message.startsWith('Property failed after');
}

/** @param titles of the tests that must see it, as regular expressions; null: only those ran  @returns what they said; in bold: they did
 *  not see it */
export function seenAs(outcome: Outcome, titles: readonly string[] | null): string {
  if (outcome === 'timeout') return `**NO ASSERTION**: ${NO_ANSWER}`;
  if (outcome.passed) return '**NOT SEEN**';
  if (!outcome.isAssertion) return `**NO ASSERTION**: ${outcome.why}`;
  const isTheirs = titles === null || new RegExp(`(?:^|> )(?:${titles.join('|')}): `).test(outcome.why);
  return isTheirs ? outcome.why : `**SEEN BY ANOTHER**: ${outcome.why}`;
}
