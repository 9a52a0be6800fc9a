/** A section of the accuracy report, and how it is printed. A section is a file `*-section.ts` in this folder that exports
 *  `run(dataDir)`; accuracy/run.ts finds them by name, so a new one needs no registration. */

/** What is done about weights and thresholds that were fitted on some of the recordings. Null: the ones in use are scored, as users get
 *  them. 'recording': fitted anew for each recording on the others; 'database': for each database on the others. */
export type LeaveOut = 'recording' | 'database' | null;

export type Options = Readonly<{ leaveOut: LeaveOut }>;

/** Were parameters chosen with these recordings in view? In part: a rule or two was. */
export type ChosenOn = 'yes' | 'no' | 'in part';

/** One figure of one database, for the table of all of them. */
export type DatabaseFigure = Readonly<{ what: string; database: string; chosenOn: ChosenOn; n: string; figure: string }>;

export type Section = Readonly<{
  title: string;
  /** Rows of a table, the first one is the header. */
  rows: readonly (readonly string[])[];
  /** The same as data; `gross` figures first. */
  json: unknown;
  /** Sentences below the table: rules, what the figures are for. */
  notes?: readonly string[];
  /** Worst cases, drawn. */
  pictures?: readonly Picture[];
  /** Its main figures, by database. */
  byDatabase?: readonly DatabaseFigure[];
}>;

export type Picture = Readonly<{ caption: string; svg: string }>;

/** A section, or null where its recordings are absent. */
export type SectionModule = Readonly<{ run: (dataDir: string, options: Options) => Promise<Section | null> }>;

/** Aligned columns; the first is text, the others are numbers and align right. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, c) => (widths[c] = Math.max(widths[c] ?? 0, cell.length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, c) => (c === 0 ? cell.padEnd(widths[c]!) : cell.padStart(widths[c]!)))
      .join('  ')
      .trimEnd();
  return rows.map(line).join('\n');
}

/** Every section's main figures in one table; null where there are none. */
export function databaseSection(sections: readonly Section[]): Section | null {
  const figures = sections.flatMap((section) => section.byDatabase ?? []);
  if (figures.length === 0) return null;
  return {
    title: 'By database',
    rows: [
      ['figure', 'database', 'chosen on', 'n', 'value'],
      ...figures.map(({ what, database, chosenOn, n, figure }) => [what, database, chosenOn, n, figure]),
    ],
    json: figures,
    notes: [
      'Chosen on: parameters were chosen with these recordings in view, so the figure flatters. What counts is the rows that say no. A total holds both.',
    ],
  };
}

/** GitHub's tables. Figures alone: no times, so that the same recordings and code give the same file. */
export function markdownPage(sections: readonly Section[], heading: string, lead: readonly string[]): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|');
  const line = (row: readonly string[]): string => `| ${row.map(cell).join(' | ')} |`;
  const parts = sections.map(({ title, rows, notes }) => {
    const [header, ...body] = rows;
    const table = [line(header!), `|${header!.map((_, c) => (c === 0 ? '---' : '---:')).join('|')}|`, ...body.map(line)];
    return [`## ${title}`, table.join('\n'), ...(notes ?? [])].join('\n\n');
  });
  return `${[`# ${heading}`, ...lead, ...parts].join('\n\n')}\n`;
}

/** One page that needs nothing else: tables and drawn worst cases. */
export function htmlPage(sections: readonly Section[], heading: string): string {
  const parts = sections.map(
    (section) => `<section><h2>${escape(section.title)}</h2>
<table>${section.rows.map((row, r) => `<tr>${row.map((cell) => (r === 0 ? `<th>${escape(cell)}</th>` : `<td>${escape(cell)}</td>`)).join('')}</tr>`).join('\n')}</table>
${(section.notes ?? []).map((note) => `<p>${escape(note)}</p>`).join('\n')}
${(section.pictures ?? []).map((picture) => `<figure>${picture.svg}<figcaption>${escape(picture.caption)}</figcaption></figure>`).join('\n')}</section>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escape(heading)}</title>
<style>body{font:14px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:.1rem .7rem;text-align:right;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}figure{margin:1rem 0}figcaption{color:#555}svg{width:100%;height:auto;border:1px solid #ddd}</style>
<h1>${escape(heading)}</h1>
${parts.join('\n')}</html>
`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
