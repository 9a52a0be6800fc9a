/** Which of several versions of a method is the newest. */

/** SQL: order by this, the newest first. By the version in the code: a number says only when this database met the method, and it may
 *  meet an older one later, with an organization that is moved here or from a node of a release before.
 *  @param method alias of the table */
export const newestFirst = (method: string): string =>
  `(substring(${method}.code from '_v(\\d+)$'))::integer desc nulls last, ${method}.id desc`;
