/** A process that gives signs of life, and is then busy for as long as it is told, seconds of processor time: the test's argument. */
import { giveSigns } from '../../src/cli/signs-of-life.ts';

giveSigns();
process.once('message', (seconds: number) => {
  const before = process.cpuUsage();
  for (let used = 0; used < seconds * 1e6;) {
    const { user, system } = process.cpuUsage(before);
    used = user + system;
  }
  process.send!('done');
});
