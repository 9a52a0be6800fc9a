/** Tools of proof that were asked for nothing, by a slip of the hand, must not say that all is well. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const run = (command: string): { code: number | null; err: string } => {
  const { status, stderr } = spawnSync(process.execPath, command.split(' '), { cwd: root, encoding: 'utf8', timeout: 90_000 });
  return { code: status, err: stderr };
};

test.each([
  ['histories/run.ts --only devices,sendd', /--only: no "sendd"; there are devices, people, operators, world, send, /],
  ['histories/run.ts --minuts 4', /Unknown option '--minuts'; there are --minutes, .*--help$/m],
  ['faults/fuzz/run.ts --secs 4', /Unknown option '--secs'; there are /],
  ['histories/run.ts --count 4x', /--count is a whole number from 1 on, not "4x"/],
  ['histories/run.ts --until (', /--until: \( is no regular expression/],
  ['faults/fuzz/run.ts --count 10M', /--count is a whole number from 1 on, not "10M"/],
  ['faults/fuzz/run.ts --only packt', /no target of packt; there are token, packet, /],
  ['scripts/promises-planted.ts --from 9999', /--from: there are \d+ faults/],
  ['scripts/conform-planted.ts --fault 99', /--fault is a whole number from 1 to \d+, not "99"/],
  ['scripts/mutation.ts --unit test/proof/fuzz.test.ts', /test\/proof\/fuzz\.test\.ts is no file of src\/ that can be changed/],
  ['accuracy/run.ts --only ppg-quality --markdown docs/accuracy.md', /--markdown writes the whole document: without --only/],
  [
    'accuracy/run.ts --only ecg-detction',
    /no section "ecg-detction"; there are beat-confidence, beat-origin, burden, delineation, ecg-detection, /,
  ],
])(
  '%s ends with 2 and a sentence',
  (command, sentence) => {
    const { code, err } = run(command);
    expect(err).toMatch(sentence);
    expect(err).not.toContain('    at ');
    expect(code).toBe(2);
  },
  100_000,
);

test.each(['histories/run.ts', 'faults/fuzz/run.ts', 'scripts/promises-planted.ts', 'scripts/mutation.ts', 'accuracy/run.ts'])(
  '%s --help prints what it is for and its options',
  (tool) => {
    const { status, stdout } = spawnSync(process.execPath, [tool, '--help'], { cwd: root, encoding: 'utf8', timeout: 90_000 });
    expect(stdout).toContain(`npm run `);
    expect(stdout).not.toMatch(/^ \*|\*\/|^import/m);
    expect(status).toBe(0);
  },
  100_000,
);
