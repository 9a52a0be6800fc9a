/** /api-docs: the description as JSON, and as a page that works offline under a strict content security policy. */
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { errorTable } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { errorAdvice } from './error-advice.ts';
import { openApi } from './openapi.ts';
import type { ApiInfo } from './openapi.ts';
import { defineRoute } from './route.ts';
import type { Route, SocketRoute } from './route.ts';
import { PAGE_CSP, staticFolder } from './static-files.ts';
import type { StaticMount } from './static-files.ts';

const HTML = 'text/html; charset=utf-8';

const getApiDescription = (description: () => string) =>
  defineRoute({
    method: 'GET',
    path: '/api-docs',
    operationId: 'getApiDescription',
    tag: 'Service',
    summary: 'This description',
    description: 'OpenAPI 3.1 as JSON; a page for browsers (Accept: text/html).',
    access: { public: true },
    etag: true,
    responses: { 200: { description: 'The description.', contentType: 'application/json', alternatives: { 'text/html': null } } },
    handler: async ({ header }) =>
      header('accept').includes('text/html')
        ? { status: 200, text: page, contentType: HTML, headers: { 'content-security-policy': PAGE_CSP, vary: 'accept' } }
        : { status: 200, text: description(), contentType: 'application/json', headers: { vary: 'accept' } },
  });

const getOpenApi = (description: () => string) =>
  defineRoute({
    method: 'GET',
    path: '/api-docs/openapi.json',
    operationId: 'getOpenApi',
    tag: 'Service',
    summary: 'This description, always as JSON',
    access: { public: true },
    etag: true,
    responses: { 200: { description: 'The description.', contentType: 'application/json' } },
    handler: async () => ({ status: 200, text: description(), contentType: 'application/json' }),
  });

const getErrorCodes = defineRoute({
  method: 'GET',
  path: '/api-docs/errors',
  operationId: 'getErrorCodes',
  tag: 'Service',
  summary: 'What each error code means',
  access: { public: true },
  etag: true,
  responses: { 200: { description: 'A page with one section per code.', contentType: 'text/html' } },
  handler: async () => ({ status: 200, text: errorsPage(), contentType: HTML, headers: { 'content-security-policy': PAGE_CSP } }),
});

const getDocsScript = defineRoute({
  method: 'GET',
  path: '/api-docs/start.js',
  operationId: 'getDocsScript',
  tag: 'Service',
  summary: 'Script of the page',
  access: { public: true },
  etag: true,
  responses: { 200: { description: 'JavaScript.', contentType: 'text/javascript' } },
  handler: async () => ({ status: 200, text: script, contentType: 'text/javascript; charset=utf-8' }),
});

const getDocsStyle = defineRoute({
  method: 'GET',
  path: '/api-docs/contrast.css',
  operationId: 'getDocsStyle',
  tag: 'Service',
  summary: 'Style of the page',
  access: { public: true },
  etag: true,
  responses: { 200: { description: 'CSS.', contentType: 'text/css' } },
  handler: async () => ({ status: 200, text: style, contentType: 'text/css; charset=utf-8' }),
});

/** The page's own files, from the installed package. */
export function docsAssets(): StaticMount {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return staticFolder({
    prefix: '/api-docs/assets',
    folder,
    only: ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'],
    csp: PAGE_CSP,
    audience: 'page',
  });
}

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>biosignal API</title>
    <link rel="icon" type="image/png" href="/api-docs/assets/favicon-32x32.png">
    <link rel="stylesheet" href="/api-docs/assets/swagger-ui.css">
    <link rel="stylesheet" href="/api-docs/contrast.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/api-docs/assets/swagger-ui-bundle.js"></script>
    <script src="/api-docs/start.js"></script>
  </body>
</html>
`;

/** Swagger UI's own colours fall short of 4.5:1 (WCAG 2.2, 1.4.3) on its method labels, links and hints. */
const style = `
.swagger-ui .info .title small, .swagger-ui .info .title small.version-stamp { background: #3f6600; }
.swagger-ui .info a, .swagger-ui .info .url, .swagger-ui a.link, .swagger-ui .renderedMarkdown a { color: #0a5fb4; }
.swagger-ui .btn.authorize { color: #176f43; border-color: #176f43; }
.swagger-ui .btn.authorize svg { fill: #176f43; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #0a5fb4; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #176f43; }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #8a5600; }
.swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #0b6466; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e; }
.swagger-ui .parameter__in, .swagger-ui .prop-format, .swagger-ui .json-schema-2020-12-expand-deep-button { color: #54606e; }
.swagger-ui .renderedMarkdown code { color: #5b1a9e; }
`;

// validatorUrl null: the page asks no other host.
const script = `SwaggerUIBundle({ url: '/api-docs/openapi.json', dom_id: '#swagger-ui', validatorUrl: null, deepLinking: true });\n`;

function errorsPage(): string {
  const sections = (Object.keys(errorTable) as ErrorCode[]).map((code) => {
    const { status, close, retry, title, inBand } = errorTable[code];
    const sent = inBand ? 'Told in a message of a socket, which stays open.' : `HTTP ${status}; WebSocket close code ${close}.`;
    const again = retry ? 'Send the same again later.' : 'The same request will fail again.';
    const { when, act } = errorAdvice[code];
    return `<section id="${code}"><h2><code>${code}</code></h2><p>${title} ${again}</p><p>${sent}</p>
<p><b>When.</b> ${html(when)}</p><p><b>What to do.</b> ${html(act)}</p></section>`;
  });
  return `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>biosignal: error codes</title></head>
  <body><main><h1>Error codes</h1>${sections.join('\n')}</main></body>
</html>
`;
}

const html = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/`([^`]*)`/g, '<code>$1</code>');

/** Routes of the description. They describe themselves too, so they are given the rest of the table. */
export function docsRoutes(routes: readonly Route[], sockets: readonly SocketRoute[], info: ApiInfo): readonly Route[] {
  let text = '';
  const own = [getApiDescription(() => text), getOpenApi(() => text), getErrorCodes, getDocsScript, getDocsStyle];
  text = JSON.stringify(openApi([...routes, ...own], sockets, info));
  return own;
}
