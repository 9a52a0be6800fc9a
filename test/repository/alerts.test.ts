/** The rules of ops/prometheus fire when they should and are silent when they should, for one instance, for two, and for a cluster. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';

const folder = join(import.meta.dirname, '../../ops/prometheus');
type Cases = Readonly<{
  tests: readonly Readonly<{ alert_rule_test: readonly Readonly<{ alertname: string; exp_alerts?: unknown }>[] }>[];
}>;

const hasPromtool = ((): boolean => {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    console.warn('SKIPPED: promtool is not installed (Debian package prometheus): alert rules are not run');
    return false;
  }
})();

it.runIf(hasPromtool)('the alert rules fire in the cases of alerts.test.yml, and not in the others', () => {
  expect(execFileSync('promtool', ['test', 'rules', 'alerts.test.yml'], { cwd: folder, encoding: 'utf8' })).toContain('SUCCESS');
});

// Prometheus itself reads them: a file of rules with the expression of each panel.
it.runIf(hasPromtool)('the expressions of the Grafana dashboard are PromQL', () => {
  const { panels } = JSON.parse(readFileSync(join(folder, '../grafana/biosignal.json'), 'utf8')) as {
    panels: readonly { title: string; targets: readonly { expr: string }[] }[];
  };
  const rules = panels.flatMap(({ targets }, i) =>
    targets.map(({ expr }, k) => ({ record: `panel:${i}_${k}`, expr: expr.replaceAll('$__rate_interval', '5m') })),
  );
  expect(rules.length).toBeGreaterThan(30);
  const work = mkdtempSync(join(tmpdir(), 'biosignal-panels-'));
  try {
    writeFileSync(join(work, 'panels.yml'), stringify({ groups: [{ name: 'panels', rules }] }));
    const said = execFileSync('promtool', ['check', 'rules', 'panels.yml'], { cwd: work, encoding: 'utf8' });
    expect(said).toContain(`${rules.length} rules found`);
  } finally {
    rmSync(work, { recursive: true });
  }
});

it('each rule about owners, nodes and restarts has a case in which it fires and one in which it does not', () => {
  const { tests } = parse(readFileSync(join(folder, 'alerts.test.yml'), 'utf8')) as Cases;
  const all = tests.flatMap(({ alert_rule_test: asked }) => asked);
  const names = (fires: boolean): string[] =>
    [...new Set(all.filter((one) => (one.exp_alerts !== undefined) === fires).map(({ alertname }) => alertname))].toSorted();
  expect(names(true)).toEqual(names(false));
  expect(names(true)).toEqual([
    'BiosignalBusAway',
    'BiosignalClock',
    'BiosignalDown',
    'BiosignalEpochs',
    'BiosignalNoOwner',
    'BiosignalNodeSilent',
    'BiosignalOwnerChanges',
    'BiosignalPartitionsWithoutOwner',
    'BiosignalRestarts',
  ]);
});
