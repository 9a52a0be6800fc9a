/** `npm run flame -- FILE.cpuprofile [OUT.svg]`: draws a processor profile of Node (`--cpu-prof`) as a flame graph and prints where time
 *  goes. Width is time on the processor; what calls is below what is called. Time in which nothing ran is left out. Hover names and shares.
 *
 *  --last SEC: only the end of the profile; the start-up is before it.
 *
 *  npm run flame -- --record live-load memory p2   records a bench: its service runs under --cpu-prof. Of the first one the main thread is
 *  drawn, and its busiest DSP worker where it has any. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { toolOptions } from '../scripts/tool-options.ts';

type ProfileNode = Readonly<{
  id: number;
  callFrame: Readonly<{ functionName: string; url: string; lineNumber: number }>;
  children?: readonly number[];
}>;
type Profile = Readonly<{ nodes: readonly ProfileNode[]; samples: readonly number[]; timeDeltas: readonly number[] }>;
type Frame = { name: string; where: string; us: number; selfUs: number; below: Map<string, Frame> };

const IDLE = new Set(['(idle)', '(root)']);
/** Nothing runs: the loop waits, or a worker of the pool waits for its next task. */
const WAITING = new Set(['(idle)', 'atomicsWaitLoop']);
const WIDTH = 1200;
const ROW = 17;
const NARROWEST = 2;
const DEEPEST = 40;

/** The calls as a tree, the same function under the same caller merged; times in µs. */
function merge(profile: Profile, lastSec: number): Frame {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const self = new Map<number, number>();
  const lengthUs = profile.timeDeltas.reduce((sum, us) => sum + us, 0);
  let atUs = 0;
  profile.samples.forEach((id, i) => {
    atUs += profile.timeDeltas[i] ?? 0;
    if (atUs >= lengthUs - lastSec * 1e6) self.set(id, (self.get(id) ?? 0) + Math.max(0, profile.timeDeltas[i] ?? 0));
  });
  const root: Frame = { name: 'all', where: '', us: 0, selfUs: 0, below: new Map() };
  const add = (id: number, into: Frame): number => {
    const { callFrame, children = [] } = nodes.get(id)!;
    if (WAITING.has(callFrame.functionName)) return 0;
    const where = callFrame.url === '' ? '' : `${shortPath(callFrame.url)}:${callFrame.lineNumber + 1}`;
    const name = callFrame.functionName === '' ? '(anonymous)' : callFrame.functionName;
    const key = `${name} ${where}`;
    const isRoot = IDLE.has(callFrame.functionName);
    const frame = isRoot ? into : (into.below.get(key) ?? { name, where, us: 0, selfUs: 0, below: new Map<string, Frame>() });
    if (!isRoot) into.below.set(key, frame);
    const own = self.get(id) ?? 0;
    const total = children.reduce((sum, child) => sum + add(child, frame), own);
    frame.selfUs += own;
    frame.us += total;
    return total;
  };
  add(profile.nodes[0]!.id, root);
  return root;
}

function shortPath(url: string): string {
  const path = url.replace(/^file:\/\//, '');
  const inside = /(?:node_modules|src|bench|sdk)\/.*$/.exec(path);
  return inside === null ? basename(path) : inside[0];
}

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Warm colours by file, so that one file's functions look alike. */
function color(frame: Frame): string {
  let hash = 0;
  for (const char of frame.where.replace(/:.*/, '')) hash = (hash * 31 + char.charCodeAt(0)) >>> 0;
  return frame.where === '' ? 'hsl(210 12% 78%)' : `hsl(${(hash % 55) + 5} ${70 + (hash % 20)}% ${62 + (hash % 13)}%)`;
}

function draw(root: Frame, title: string): string {
  const shapes: string[] = [];
  let deepest = 0;
  const place = (frame: Frame, x: number, level: number): void => {
    const width = (frame.us / root.us) * WIDTH;
    if (width < NARROWEST || level > DEEPEST) return;
    deepest = Math.max(deepest, level);
    const share = ((100 * frame.us) / root.us).toFixed(1);
    const text = width < 34 ? '' : `<text x="3" y="12">${escape(frame.name.slice(0, Math.floor(width / 6.4)))}</text>`;
    shapes.push(
      `<g transform="translate(${x.toFixed(1)} ${level})"><title>${escape(`${frame.name} ${frame.where}`)}: ${share} %</title>` +
        `<rect width="${Math.max(0.4, width - 0.4).toFixed(1)}" height="${ROW - 1}" fill="${color(frame)}"/>${text}</g>`,
    );
    let at = x;
    for (const child of [...frame.below.values()].toSorted((a, b) => b.us - a.us)) {
      place(child, at, level + 1);
      at += (child.us / root.us) * WIDTH;
    }
  };
  place(root, 0, 0);
  const height = (deepest + 1) * ROW + 26;
  const placed = shapes.map((shape) =>
    shape.replace(/translate\(([\d.]+) (\d+)\)/, (_, x: string, level: string) => `translate(${x} ${height - (Number(level) + 1) * ROW})`),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="ui-monospace,monospace" font-size="11">
<rect width="100%" height="100%" fill="#fff"/><text x="4" y="15" font-size="13">${escape(title)}</text>
${placed.join('\n')}
</svg>
`;
}

/** Functions by their own time, callers set aside. */
function hottest(root: Frame, count: number): readonly (readonly [string, number])[] {
  const own = new Map<string, number>();
  const walk = (frame: Frame): void => {
    const key = `${frame.name} ${frame.where}`;
    own.set(key, (own.get(key) ?? 0) + frame.selfUs);
    for (const child of frame.below.values()) walk(child);
  };
  walk(root);
  return [...own].toSorted((a, b) => b[1] - a[1]).slice(0, count);
}

/** Processor time of a profile, µs. */
const busyUs = (path: string): number => merge(JSON.parse(readFileSync(path, 'utf8')) as Profile, Infinity).us;

/** @returns the profile of the main thread and of the busiest worker, if there is one */
function record(args: readonly string[]): string[] {
  const dir = mkdtempSync(join(tmpdir(), 'biosignal-flame-'));
  const [bench = '', ...rest] = args;
  const flags = `--cpu-prof --cpu-prof-interval=500 --cpu-prof-dir=${dir}`;
  const run = spawnSync(process.execPath, ['--expose-gc', '--disable-warning=ExperimentalWarning', `bench/${bench}.bench.ts`, ...rest], {
    stdio: 'inherit',
    env: { ...process.env, BENCH_NODE_FLAGS: flags },
  });
  const files = readdirSync(dir).toSorted(); // CPU.date.time.pid.thread.no: the first service's first; a baseline comes after it
  if (run.status !== 0 || files.length === 0) throw new Error(`bench/${bench}.bench.ts left no profile`);
  const service = files[0]!.split('.')[3];
  const threads = files.filter((file) => file.split('.')[3] === service);
  const main = threads.find((file) => file.split('.')[4] === '0') ?? files[0]!;
  const workers = threads.filter((file) => file !== main).map((file) => ({ file, us: busyUs(join(dir, file)) }));
  const busiest = workers.toSorted((a, b) => b.us - a.us)[0];
  const kept = [main, ...(busiest === undefined ? [] : [busiest.file])].map((file, i) => {
    const path = join(tmpdir(), `biosignal-${bench}${i === 0 ? '' : '-worker'}.cpuprofile`);
    writeFileSync(path, readFileSync(join(dir, file)));
    return path;
  });
  rmSync(dir, { recursive: true });
  return kept;
}

const { values, positionals } = toolOptions({
  allowPositionals: true,
  options: { record: { type: 'boolean', default: false }, last: { type: 'string', default: 'Infinity' } },
});
const paths = values.record ? record(positionals) : positionals.slice(0, 1);
if (paths.length === 0) {
  console.error(
    'usage: npm run flame -- [--last SEC] FILE.cpuprofile [OUT.svg]   or   npm run flame -- [--last SEC] --record BENCH [ARGUMENT ...]',
  );
  process.exit(2);
}
for (const path of paths) {
  const root = merge(JSON.parse(readFileSync(path, 'utf8')) as Profile, Number(values.last));
  const out = (values.record ? undefined : positionals[1]) ?? path.replace(/\.cpuprofile$/, '.svg');
  writeFileSync(out, draw(root, `${basename(path)}: ${(root.us / 1e6).toFixed(1)} s on the processor`));
  for (const [name, us] of hottest(root, 25)) console.log(`${((100 * us) / root.us).toFixed(1).padStart(6)} %  ${name}`);
  console.log(`drawn in ${out}`);
}
