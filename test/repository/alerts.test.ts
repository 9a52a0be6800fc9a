/** The rules of ops/prometheus fire when they should and are silent when they should, for one instance, for two, and for a cluster. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

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
    'BiosignalNoOwner',
    'BiosignalNodeSilent',
    'BiosignalOwnerChanges',
    'BiosignalPartitionsWithoutOwner',
    'BiosignalRestarts',
  ]);
});
