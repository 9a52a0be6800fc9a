/** The API description: generated, valid by an independent linter, and a page that needs nothing from elsewhere. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { docsAssets } from '../../src/http/docs-routes.ts';
import { startHttp } from '../../src/http/server.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { allRoutes } from '../helpers/all-routes.ts';
import { chromiumPath, launchChromium } from '../helpers/chromium.ts';

let http: HttpServer;
let base = '';
type Paths = Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
let description: { paths: Paths; webhooks: Paths };
beforeAll(async () => {
  const silent = (): void => undefined;
  http = await startHttp({
    config: readConfig({ PORT: '0' }),
    routes: allRoutes(),
    statics: [docsAssets()],
    authenticate: () => ({ kind: 'anonymous' }),
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  });
  base = `http://127.0.0.1:${http.port}`;
  description = (await (await fetch(`${base}/api-docs`)).json()) as typeof description;
});
afterAll(async () => {
  await http.stop();
});

it('a page of another origin may read every header that the description names, but for cookies', async () => {
  const named = new Set(
    Object.values(description.paths)
      .flatMap((item) => Object.values(item))
      .flatMap(({ responses }) => Object.values(responses) as readonly { headers?: object }[])
      .flatMap(({ headers = {} }) => Object.keys(headers))
      .map((name) => name.toLowerCase()),
  );
  const { headers } = await fetch(`${base}/healthz`, { headers: { origin: 'https://page.example' } });
  const exposed = (headers.get('access-control-expose-headers') ?? '').split(', ');
  named.delete('set-cookie');
  expect(named.size).toBeGreaterThan(3);
  expect([...named].filter((name) => !exposed.includes(name))).toEqual([]);
});

describe('/api-docs', () => {
  // promise: api-docs, api-described
  it('describes every route of the table, each with its own operation id', () => {
    const ids = Object.values(description.paths).flatMap((item) => Object.values(item).map((operation) => operation.operationId));
    expect(new Set(ids).size).toBe(ids.length);
    for (const route of allRoutes()) {
      expect(description.paths[route.path]?.[route.method.toLowerCase()]?.operationId).toBe(route.operationId);
    }
  });

  it('names the roles that members have', () => {
    const said = JSON.stringify(description.paths).match(/an operator session[^.;]*/g) ?? [];
    expect([...new Set(said.map((text) => text.slice(text.lastIndexOf('role') + 5)))].toSorted()).toEqual([
      'admin or owner',
      'clinician, admin or owner',
      'viewer, analyst, clinician, admin or owner',
    ]);
  });

  it('is lint-clean', () => {
    const folder = mkdtempSync(join(tmpdir(), 'bio-openapi-'));
    try {
      writeFileSync(join(folder, 'openapi.json'), JSON.stringify(description));
      writeFileSync(join(folder, 'redocly.yaml'), 'extends:\n  - recommended\nrules:\n  no-server-example.com: off\n');
      const cli = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js');
      const run = spawnSync(process.execPath, [cli, 'lint', 'openapi.json', '--config', 'redocly.yaml', '--format', 'stylish'], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: '1' },
      });
      expect(`${run.stdout}${run.stderr}`.replaceAll(/\s+/g, ' ')).toMatch(/Your API description is valid/);
      expect(run.stdout).not.toMatch(/warning/i);
      expect(run.status).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  // promise: content-policy
  it('is a page for browsers, with scripts and styles of its own under a strict policy', async () => {
    const page = await fetch(`${base}/api-docs`, { headers: { accept: 'text/html,application/xhtml+xml' } });
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toContain('unsafe');
    const html = await page.text();
    expect(html).not.toMatch(/https?:\/\//);
    for (const [, path] of html.matchAll(/(?:src|href)="([^"]+)"/g)) {
      const file = await fetch(base + (path ?? ''));
      expect(file.status, path).toBe(200);
      expect(file.headers.get('content-type')).toMatch(/javascript; charset=utf-8|css; charset=utf-8|png/);
    }
  });

  // promise: api-docs
  it.skipIf(chromiumPath === null)('shows every operation in a browser that reaches nothing else, without a complaint', async () => {
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      const complaints: string[] = [];
      const elsewhere: string[] = [];
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
      page.on('pageerror', (error) => void complaints.push(error.message));
      await page.route('**/*', (route) => {
        const url = route.request().url();
        if (url.startsWith(base) || url.startsWith('data:')) return route.continue();
        elsewhere.push(url);
        return route.abort();
      });
      await page.goto(`${base}/api-docs`);
      const count = [description.paths, description.webhooks].flatMap((part) =>
        Object.values(part).flatMap((item) => Object.keys(item)),
      ).length;
      await page
        .locator('.opblock')
        .nth(count - 1)
        .waitFor({ state: 'attached', timeout: 60_000 });
      expect(await page.locator('.opblock').count()).toBe(count);
      for (const method of ['get', 'post', 'put', 'patch', 'delete'])
        await page.locator(`.opblock-${method} .opblock-summary-control`).first().click();
      await page.locator('.opblock.is-open .responses-table').nth(4).waitFor();
      await page.evaluate(`${await readFile(join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8')};0`);
      const pale = await page.evaluate(async () => {
        type Axe = { run: (node: Document, options: object) => Promise<{ violations: { nodes: { html: string }[] }[] }> };
        const found = await (globalThis as unknown as { axe: Axe }).axe.run(document, { runOnly: ['color-contrast'] });
        return found.violations.flatMap(({ nodes }) => nodes.map((node) => node.html));
      });
      expect(pale).toEqual([]);
      expect({ complaints, elsewhere }).toEqual({ complaints: [], elsewhere: [] });
      const folder = process.env['BIO_TEST_SCREENSHOTS'];
      if (folder !== undefined) await page.screenshot({ path: join(folder, 'api-docs.png') });
    } finally {
      await browser.close();
    }
  });

  it('has a section for every error code that a problem points to', async () => {
    const problem = (await (await fetch(`${base}/nowhere`)).json()) as { type: string };
    const [path = '', id = ''] = problem.type.split('#');
    expect(await (await fetch(base + path)).text()).toContain(`id="${id}"`);
  });
});
