/** Background work leaves an organization alone that is being moved, or was moved, to another database: the other service does it. */

/** SQL: says whether an organization (column) is not being moved. */
export const isHere = (organization: string): string =>
  `not exists (select from organization moved where moved.id = ${organization} and moved.moving_at is not null)`;
