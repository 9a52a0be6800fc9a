/** The report of a run as a page: failures first, then skipped checks, then everything by group. No scripts, nothing fetched; it can be
 *  printed as is. */
import type { Check, Result } from './checks.ts';
import type { Played } from './play.ts';

export function countOf(checks: readonly Check[], result: Result): number {
  return checks.filter((check) => check.result === result).length;
}

export function reportPage(played: Played): string {
  const { checks, url, startedAt, durationMs, version, proxy, requests, bytes, refused, earlier, left, cut } = played;
  const failed = checks.filter(({ result }) => result === 'failed');
  const skipped = checks.filter(({ result }) => result === 'skipped');
  const groups = [...new Set(checks.map(({ group }) => group))];
  const facts: readonly (readonly [string, string])[] = [
    ['Service', url],
    ['Release', version],
    ['In front', proxy === '' ? 'no proxy is seen' : proxy],
    ['Begun', startedAt],
    ['Took', `${(durationMs / 1000).toFixed(1)} s`],
    ['Sent', `${requests} requests, ${(bytes / 1e6).toFixed(1)} MB, ${refused} invalid credentials`],
    ...(earlier === '' ? [] : [['Of earlier runs', earlier] as const]),
    ['Left behind', left.length === 0 ? 'nothing but empty projects, revoked keys and the audit log' : left.join('; ')],
  ];
  const verdict =
    failed.length > 0
      ? `${failed.length} of ${checks.length} checks failed`
      : cut === ''
        ? 'Everything that was checked holds'
        : 'The run was cut short';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Conformance: ${escape(verdict)}</title>
<style>${style}</style>
</head>
<body>
<h1 class="${failed.length > 0 || cut !== '' ? 'failed' : 'passed'}">${escape(verdict)}</h1>
${cut === '' ? '' : `<p class="failed">The run did not finish: ${escape(cut)}</p>`}
<p class="counts"><b>${countOf(checks, 'passed')}</b> passed <b>${failed.length}</b> failed <b>${skipped.length}</b> skipped</p>
<dl>${facts.map(([name, value]) => `<dt>${name}</dt><dd>${escape(value)}</dd>`).join('')}</dl>
${section('Failed', failed, true)}
${section('Skipped', skipped, true)}
${groups
  .map((group) =>
    section(
      group,
      checks.filter((check) => check.group === group && check.result !== 'skipped'),
      false,
    ),
  )
  .join('\n')}
</body>
</html>
`;
}

function section(title: string, checks: readonly Check[], withGroup: boolean): string {
  if (checks.length === 0) return '';
  const wrong = withGroup ? 0 : countOf(checks, 'failed');
  const summary = `${escape(title)} <span>${checks.length}${wrong > 0 ? `, ${wrong} failed` : ''}</span>`;
  const rows = checks.map((check) => row(check, withGroup)).join('\n');
  return `<section><h2>${summary}</h2>
<table><thead><tr><th scope="col">Result</th><th scope="col">Check</th><th scope="col">Expected</th><th scope="col">Came back</th></tr></thead>
<tbody>${rows}</tbody></table></section>`;
}

const marks: Readonly<Record<Result, string>> = { passed: '✓ passed', failed: '✗ failed', skipped: '– skipped' };

function row({ group, name, sent, expected, got, result }: Check, withGroup: boolean): string {
  const title = withGroup ? `<small>${escape(group)}</small><br>${escape(name)}` : escape(name);
  const asked = sent === '' ? '' : `<br><code>${escape(sent)}</code>`;
  const cells = `<td data-name="Expected">${escape(expected)}</td><td data-name="Came back">${escape(got)}</td>`;
  return `<tr class="${result}"><td class="mark">${marks[result]}</td><td>${title}${asked}</td>${cells}</tr>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

const style = `
:root { color-scheme: light dark; --text: #1c2733; --soft: #4b5b68; --page: #fff; --line: #d5dde3; --bad: #a61b1b; --good: #176f43; --odd: #7a5b00; }
@media screen and (prefers-color-scheme: dark) {
  :root { --text: #e4eaef; --soft: #a9b7c2; --page: #14191e; --line: #36424c; --bad: #ff9d94; --good: #6fd6a0; --odd: #e3bf58; }
}
body { font: 14px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0 0 .4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; } h2 span { color: var(--soft); font-weight: 400; }
h1.failed, p.failed { color: var(--bad); } h1.passed { color: var(--good); }
.counts b { margin-left: 1rem; } .counts b:first-child { margin-left: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 1rem 0; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th { text-align: left; color: var(--soft); font-weight: 600; } th:first-child { width: 6.5rem; } th:nth-child(2) { width: 40%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem .35rem 0; vertical-align: top; overflow-wrap: anywhere; }
code { font-size: 12px; color: var(--soft); } small { color: var(--soft); }
.passed .mark { color: var(--good); } .failed .mark { color: var(--bad); font-weight: 600; } .skipped .mark { color: var(--odd); }
tr { break-inside: avoid; }
@media screen and (max-width: 40rem) {
  thead { display: none; } table, tbody, tr, td { display: block; }
  tr { border-bottom: 1px solid var(--line); padding: .4rem 0; } td { border: 0; padding: .1rem 0; }
  td[data-name]:not(:empty)::before { content: attr(data-name) ": "; color: var(--soft); }
}
@media print { body { font-size: 10px; margin: 0; max-width: none; } code { font-size: 9px; } h2 { break-after: avoid; } }
`;
