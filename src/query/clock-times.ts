/** Times of the clocks of a time zone, in SQL. */

/** When the clocks of a zone show a time: the first time, where they show it twice, as pages have it (widgets/shared/days.ts); PostgreSQL
 *  takes the second. Where they skip it, as PostgreSQL: as much later as they were put forward.
 *  @param local a `timestamp` of SQL  @param zone name of a zone, of SQL */
export function firstTimeOf(local: string, zone: string): string {
  const second = `(${local} at time zone ${zone})`;
  const before = `(${second} - interval '1 day')`;
  const offset = `((${before} at time zone ${zone}) - (${before} at time zone 'UTC'))`;
  const first = `((${local} - ${offset}) at time zone 'UTC')`;
  return `case when ${first} at time zone ${zone} = ${local} then least(${first}, ${second}) else ${second} end`;
}
