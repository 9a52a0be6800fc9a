/** What a section of the accuracy report is, and how it is printed. A section is a file `*-section.ts` in this folder that exports
 *  `run(dataDir)`; scripts/accuracy.ts finds them by name, so a new one needs no registration. */

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
}>;

export type Picture = Readonly<{ caption: string; svg: string }>;

/** A section, or null where its recordings are absent. */
export type SectionModule = Readonly<{ run: (dataDir: string) => Promise<Section | null> }>;

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
