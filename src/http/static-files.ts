/** Serves files of a folder: the widget bundle, the dashboard, the API page. Read once at start and compressed as well, then served from
 *  memory. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { pickCoding } from './compress.ts';
import type { Reply } from './route.ts';

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

export type StaticMount = Readonly<{
  /** Answers a path; null when it is not in this mount. */
  reply: (path: string, header: (lowerCaseName: string) => string) => Reply | null;
  /** Resolves when all files are compressed. Until then they are sent uncompressed, so that a start does not wait. */
  packed: Promise<void>;
}>;

export type StaticOptions = Readonly<{
  prefix: string;
  folder: string;
  /** Names (relative, `/`-separated) to serve; absent: all. */
  only?: readonly string[];
  csp: string;
  /** `cdn` files may be used by any page; `page` files only by the service's own. */
  audience: 'cdn' | 'page';
  /** Files with these names never change: browsers cache them for a year. All others are revalidated each time (ETag). */
  immutable?: RegExp;
}>;

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Brotli quality: within a tenth of the best size, in a tenth of its time. */
const PAGE_BROTLI_QUALITY = 9;

type Held = Readonly<{ contentType: string; etag: string; raw: Uint8Array }> & { br: Uint8Array | null; gzip: Uint8Array | null };

/** Content security policy of a page that loads only its own scripts and styles. */
export const PAGE_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self' ws: wss:; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The same for the dashboard, in which no text becomes markup but through lit-html. Swagger UI (/api-docs) writes markup itself. */
export const DASHBOARD_CSP = `${PAGE_CSP}; require-trusted-types-for 'script'; trusted-types lit-html`;

/** Reads a folder. A missing folder serves nothing, because the bundle is built in a separate step. */
export function staticFolder(options: StaticOptions): StaticMount {
  const files = new Map<string, Held>();
  for (const name of listFiles(options.folder)) {
    if (options.only !== undefined && !options.only.includes(name)) continue;
    files.set(name, hold(name, readFileSync(join(options.folder, name))));
  }
  const base = options.prefix.replace(/\/$/, '');
  return {
    // Widgets are loaded by every page of every application, and their size is promised: a third of a second, once.
    packed: pack([...files.values()], options.audience === 'cdn' ? constants.BROTLI_MAX_QUALITY : PAGE_BROTLI_QUALITY),
    reply: (path, header) => {
      if (path !== base && !path.startsWith(`${base}/`)) return null;
      const name = path.slice(base.length + 1);
      // A page's address needs no ending: /dashboard/live is live.html.
      const file = files.get(name === '' ? 'index.html' : name) ?? files.get(`${name}.html`);
      if (file === undefined) return null;
      // Relative addresses of a page resolve against its folder, so the folder's address needs its slash.
      if (path === base) return { status: 308, headers: { location: `${base}/` } };
      return fileReply(file, options, header, options.immutable?.test(name) === true);
    },
  };
}

/** Sends addresses that people type to the pages that they mean. @param pages path to path */
export function redirects(pages: Readonly<Record<string, string>>): StaticMount {
  return {
    packed: Promise.resolve(),
    reply: (path) => {
      const location = Object.hasOwn(pages, path) ? pages[path] : undefined;
      return location === undefined ? null : { status: 302, headers: { location } };
    },
  };
}

function fileReply(file: Held, options: StaticOptions, header: (name: string) => string, immutable: boolean): Reply {
  const headers: Record<string, string> = {
    etag: file.etag,
    'cache-control': immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    'content-security-policy': options.csp,
    'referrer-policy': 'no-referrer',
    // A page that opens this one, or is opened by it, gets no access to its window.
    ...(options.audience === 'page' ? { 'cross-origin-opener-policy': 'same-origin' } : {}),
    'cross-origin-resource-policy': options.audience === 'cdn' ? 'cross-origin' : 'same-origin',
    vary: 'accept-encoding',
  };
  if (options.audience === 'cdn') headers['access-control-allow-origin'] = '*';
  if (header('if-none-match') === file.etag) return { status: 304, headers };
  const coding = pickCoding(header('accept-encoding'));
  const packed = coding === null ? null : file[coding];
  if (coding !== null && packed !== null) headers['content-encoding'] = coding;
  return { status: 200, headers, bytes: packed ?? file.raw, contentType: file.contentType };
}

function hold(name: string, raw: Buffer): Held {
  return {
    contentType: types[extname(name)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(raw).digest('base64url').slice(0, 22)}"`,
    raw,
    br: null,
    gzip: null,
  };
}

/** Compresses files on zlib's threads, one at a time. */
async function pack(files: readonly Held[], quality: number): Promise<void> {
  for (const file of files) {
    if (file.raw.length <= 1024 || !/text|json|javascript|svg/.test(file.contentType)) continue;
    file.br = await toBrotli(file.raw, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
    file.gzip = await toGzip(file.raw, { level: 6 });
  }
}

function listFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(folder.length)
          .replace(/^[/\\]/, '')
          .replaceAll('\\', '/'),
      );
  } catch {
    return [];
  }
}
