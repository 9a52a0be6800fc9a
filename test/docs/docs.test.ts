/** Documents: every `biosignal` command line in them parses with the options that the command has, links and anchors lead somewhere, tables
 *  of the code are up to date, every command explains itself. test/docs/docs.int.test.ts runs the blocks that say so. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { describe, expect, test } from 'vitest';
import { errorPages, errorsDocument } from '../../scripts/build-docs.ts';
import { schemaDocument } from '../../scripts/schema-document.ts';
import { RELOAD_MS } from '../../src/auth/signing-keys.ts';
import { helpText } from '../../src/cli/command.ts';
import { commands } from '../../src/cli/commands.ts';
import { readConfig, settings } from '../../src/config.ts';
import { featureMethods } from '../../src/dsp/rows/methods.ts';
import { errorAdvice } from '../../src/http/error-advice.ts';
import { defaultAdmissionLimits } from '../../src/ingest/admit.ts';
import { defaultPacketLimits } from '../../src/proto/packet.ts';
import { TIMEOUT_MS } from '../../src/webhooks/webhook-request.ts';
import { LOCK_TIMEOUT_MS, LOCK_TRIES } from '../../src/storage/schema/migrate.ts';
import { RETRY_FOR_MS } from '../../src/storage/packet-log.ts';
import { STREAMS_PER_DELETE } from '../../src/storage/retention.ts';
import { DUE } from '../../src/storage/schema/timescale-jobs.ts';

const root = join(import.meta.dirname, '../..');
const documents = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'examples/device/README.md',
  'examples/web/README.md',
  'sdk/README.md',
  'widgets/README.md',
  'src/dsp/README.md',
  'sql/README.md',
  'bench/README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(root, 'docs/dsp')).map((name) => `docs/dsp/${name}`),
].filter((path) => existsSync(join(root, path)));

/** Words of a shell line: quotes are taken off, nothing is expanded. */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
}

function commandLines(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const match = /^(?:\s{4,}|\$ |(?=(?:sh )?scripts))(?:sh )?(?:scripts\/biosignal\.sh|biosignal) (.+?)(?:\s+#.*)?$/.exec(line);
    return match === null ? [] : match[1]!.split(/\s+&&\s+(?:scripts\/biosignal\.sh |biosignal )?/);
  });
}

describe.each(documents)('%s', (path) => {
  const text = readFileSync(join(root, path), 'utf8');

  test('its command lines are ones that the binary takes', async () => {
    for (const line of commandLines(text)) {
      const [name = '', ...args] = words(line.replace(/ > \S+$/, ''));
      if (name.startsWith('-')) continue;
      const entry = commands[name];
      expect(entry, `${path}: biosignal ${line}`).toBeDefined();
      const command = await entry!.load();
      const options = Object.fromEntries(Object.entries(command.options).map(([option, spec]) => [option, { type: spec.type }]));
      const all = { ...options, json: { type: 'boolean' as const }, help: { type: 'boolean' as const } };
      expect(() => parseArgs({ args, options: all, allowPositionals: true, strict: true }), `${path}: biosignal ${line}`).not.toThrow();
    }
  });

  test('its links lead to files of the repository and to headings in them', () => {
    for (const [, target = '', anchor = ''] of text.matchAll(/\]\(([^)#\s]*)(?:#([^)]*))?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const file = target === '' ? path : join(dirname(path), target);
      expect(existsSync(join(root, file)), `${path}: ${target}`).toBe(true);
      if (anchor !== '' && file.endsWith('.md'))
        expect(headings(readFileSync(join(root, file), 'utf8')), `${path}: #${anchor}`).toContain(anchor);
    }
  });

  test('no TypeScript is given to whatever Node the reader has', () => {
    expect([...text.matchAll(/(?:^|[\s`])node \S+\.ts/gm)].map(([line]) => line.trim())).toEqual([]);
  });

  test('names files that exist', () => {
    for (const [, name = ''] of text.matchAll(
      /`((?:src|sdk|test|scripts|bench|docs|examples|widgets|dashboard|sql|proto|ops)\/[\w./-]+\.\w+)`/g,
    )) {
      expect(existsSync(join(root, name)), `${path}: ${name}`).toBe(true);
    }
  });
});

test('the changes that docs/contributor.md shows fit the files as they are', () => {
  const text = readFileSync(join(root, 'docs/contributor.md'), 'utf8');
  const blocks = [...text.matchAll(/^```diff\n([\s\S]*?)^```/gm)];
  expect(blocks.length).toBeGreaterThan(5);
  for (const { 1: block = '', index } of blocks) {
    const path = [...text.slice(0, index).matchAll(/`((?:src|proto|widgets)\/[\w./-]+\.\w+)`/g)].at(-1)?.[1] ?? '';
    const file = readFileSync(join(root, path), 'utf8').split('\n');
    // What is there now: lines that stay, and lines that go.
    const before = block.split('\n').filter((line) => /^[ -]/.test(line));
    expect(
      before.filter((line) => !file.includes(line.slice(1))),
      path,
    ).toEqual([]);
  }
});

/** Anchors of the headings, as GitHub makes them. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

test('docs/errors.md is what `npm run docs` writes', () => {
  expect(readFileSync(join(root, 'docs/errors.md'), 'utf8')).toBe(errorsDocument());
});

test('docs/schema.md is what `npm run docs` writes, and has every table of the snapshot', () => {
  const text = readFileSync(join(root, 'docs/schema.md'), 'utf8');
  expect(text).toBe(schemaDocument());
  const tables = [...readFileSync(join(root, 'sql/schema.snapshot.sql'), 'utf8').matchAll(/^table (\w+)/gm)].map(([, name = '']) => name);
  expect(tables.length).toBeGreaterThan(50);
  expect(tables.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

// promise: problems
test('every error code has its page, and no page is of a code that is gone', () => {
  const pages = errorPages();
  const present = readdirSync(join(root, 'docs/errors')).map((name) => `docs/errors/${name}`);
  expect(present.toSorted()).toEqual(Object.keys(pages).toSorted());
  for (const path of present) expect(readFileSync(join(root, path), 'utf8')).toBe(pages[path]);
});

// promise: retention-of-projects, session-idle, retention-by-recording, connections-bound, frame-deadline
// promise: slow-closed, database-away, migration-lock, webhook-retry, signing-key-withdrawn, timescale-jobs-watched
test.each([
  ['SECURITY.md', 'over after half an hour without a request', readConfig({}).sessionIdleMin, 30],
  ['docs/operator.md', 'an import of years ago may be deleted within ten minutes', readConfig({}).retentionPeriodSec, 600],
  ['docs/operator.md', 'in small steps, an hour of 20 streams at a time', STREAMS_PER_DELETE, 20],
  ['docs/operator.md', '`BIO_DB_CONNECTIONS_MAX` connections, 30 by default', readConfig({}).dbConnectionsMax, 30],
  ['docs/wire-format.md', 'or 250 ms (`BIO_FRAME_DEADLINE_MS`) after the first channel did', readConfig({}).frameDeadlineMs, 250],
  ['docs/wire-format.md', 'After 30 s above the bound (`BIO_VIEWER_SLOW_SEC_MAX`)', readConfig({}).viewerSlowSecMax, 30],
  ['SECURITY.md', 'its tokens end within a second', RELOAD_MS, 1000],
  ['docs/operator.md', 'or one that was due for 15 minutes and did not run', DUE, '15 minutes'],
  ['docs/operator.md', '503 with `Retry-After` after 8 s of trying', RETRY_FOR_MS, 8000],
  ['docs/operator.md', 'a file waits 2 s at a time', LOCK_TIMEOUT_MS, 2000],
  ['docs/operator.md', 'and is tried 30 times', LOCK_TRIES, 30],
  ['docs/integrator.md', 'A delivery that is not answered 2xx within 10 s', TIMEOUT_MS, 10_000],
])('%s: "%s" is what the code does by itself', (path, words, value, stated) => {
  expect(value).toBe(stated);
  expect(readFileSync(join(root, path), 'utf8')).toContain(words);
});

// promise: limit-packet, limit-parts, limit-samples, limit-block, limit-channels, limit-ranges
test('the limits of packets are those of the code', () => {
  const text = readFileSync(join(root, 'docs/wire-format.md'), 'utf8');
  const { packetBytesMax, itemsMax, samplesMax } = defaultPacketLimits;
  const { blockSpanSecMax, offsetSecMax, channelsMax, seqRangesMax } = defaultAdmissionLimits;
  for (const row of [
    `| packet | ${packetBytesMax / 1024} KiB (`,
    `| blocks, measurements, events of a packet | ${itemsMax} each |`,
    `| samples of a packet | ${samplesMax.toLocaleString('en')} |`,
    `| block | ${blockSpanSecMax} s long, offset at most ${offsetSecMax.toLocaleString('en')} s |`,
    `| channel configurations of a stream | ${channelsMax} |`,
    `| separate ranges of sequence numbers of a stream | ${seqRangesMax} |`,
  ])
    expect(text).toContain(row);
});

test('an advice names only settings that exist', () => {
  const known = new Set<string>(Object.values(settings).map((row) => row.env));
  const named = Object.values(errorAdvice).flatMap(({ when, act }) => `${when} ${act}`.match(/\bBIO_[A-Z_]+|\bALLOWED_ORIGINS/g) ?? []);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test('docs/features.md has every feature with its method of today', () => {
  const text = readFileSync(join(root, 'docs/features.md'), 'utf8');
  // `npm run docs` writes it anew.
  expect(featureMethods.filter(({ feature }) => !text.includes(`| \`${feature}\` |`)).map(({ feature }) => feature)).toEqual([]);
});

describe.each(Object.keys(commands))('biosignal %s', (name) => {
  test('is called what the table says, and its examples are valid', async () => {
    const command = await commands[name]!.load();
    expect(command.name).toBe(name);
    expect(command.summary).toBe(commands[name]!.summary);
    const options = Object.fromEntries(Object.entries(command.options).map(([option, spec]) => [option, { type: spec.type }]));
    for (const example of command.examples ?? []) {
      for (const part of example.split(' && ')) {
        const [, of = '', ...args] = words(part.replace(/ > \S+$/, ''));
        expect(Object.keys(commands)).toContain(of);
        if (of !== name) continue;
        expect(
          () => parseArgs({ args, options: { ...options, json: { type: 'boolean' } }, allowPositionals: true }),
          example,
        ).not.toThrow();
      }
    }
  });

  // promise: command-help
  test('explains itself: every option says what it does and what it takes, and there is an example', async () => {
    const command = await commands[name]!.load();
    for (const [option, spec] of Object.entries(command.options)) {
      expect(spec.doc, option).toMatch(/\.$/);
      if (spec.type === 'string') expect(spec.value, option).toMatch(/^[A-Z_]+$/);
    }
    expect(command.examples?.length ?? 0).toBeGreaterThan(0);
    const help = helpText(command);
    for (const option of ['json', 'help', ...Object.keys(command.options)]) expect(help).toContain(`--${option}`);
    expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(160);
  });
});
