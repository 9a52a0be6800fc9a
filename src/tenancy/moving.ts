/** Background work leaves an organization alone that is being moved, or was moved, to another database: the other service does it.
 *  A project that is archived rests, too. */

/** SQL: says whether an organization (column) is not being moved. */
export const isHere = (organization: string): string =>
  `not exists (select from organization moved where moved.id = ${organization} and moved.moving_at is not null)`;

/** SQL: says whether a project (column) is not archived. */
export const isActive = (project: string): string =>
  `not exists (select from project archived where archived.id = ${project} and archived.archived_at is not null)`;
