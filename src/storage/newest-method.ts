/** Which of several versions of a method is the newest: the one with the highest number in its code. Its id says only when this database
 *  met it, and it may meet an older one later, with an organization that is moved here or from a node of a release before. */

/** SQL: the version. @param method alias of the table */
export const versionOf = (method: string): string => `(substring(${method}.code from '_v(\\d+)$'))::integer`;

/** SQL: order by this, the newest first. @param method alias of the table */
export const newestFirst = (method: string): string => `${versionOf(method)} desc nulls last, ${method}.id desc`;
