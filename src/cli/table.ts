/** Formats rows as a text table. */

/** @param rows with equal keys; numbers are right-aligned */
export function formatTable(rows: readonly Readonly<Record<string, string | number | null>>[]): string[] {
  const [first] = rows;
  if (first === undefined) return [];
  const names = Object.keys(first);
  const text = (value: string | number | null | undefined): string => (value === null || value === undefined ? '' : String(value));
  const widths = names.map((name) => Math.max(name.length, ...rows.map((row) => text(row[name]).length)));
  const line = (cells: readonly string[], right: readonly boolean[]): string =>
    cells
      .map((cell, i) => (right[i] === true ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd();
  const numeric = names.map((name) => typeof first[name] === 'number');
  return [line(names, numeric), ...rows.map((row) => line(names.map((name) => text(row[name])), numeric))]; // prettier-ignore
}

export type Named = Readonly<{ id: string; name: string }>;
/** Of those that a name means, so many are listed. */
export const LISTED_MAX = 10;

/** Names that are not unique, each with its id. */
export function listNamed(rows: readonly Named[]): string {
  const shown = rows.slice(0, LISTED_MAX).map(({ id, name }) => `${name} (${id})`);
  return [...shown, ...(rows.length > LISTED_MAX ? ['…'] : [])].join(', ');
}
