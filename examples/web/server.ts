/** An application with its own users and sign-in, as an integrator would write it: three routes, one secret, no session of the service. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';

export type ExampleOptions = Readonly<{ serviceUrl: string; apiKey: string; projectKey: string; sdkKey: string }>;

/** Yours would be in a database, with hashed passwords. */
const users = new Map([
  ['ada', 'demo'],
  ['bob', 'demo'],
]);
const sessions = new Map<string, string>();
const script = readFileSync(new URL('page.js', import.meta.url), 'utf8');

const widgets = `
      <bio-trend-chart biosignals="HR,RMSSD" range="1h" live="ecg" stale-after="1h"></bio-trend-chart>
      <bio-trend-card biosignals="HR" reference="50-100"></bio-trend-card>
      <bio-health-metrics biosignals="HR,RMSSD,SKT,MOOD"></bio-health-metrics>
      <bio-progress-ring goal="10000" heading="Steps"></bio-progress-ring>
      <bio-task-list></bio-task-list>
      <bio-mood></bio-mood>
      <bio-checkin questionnaire="daily-checkin"></bio-checkin>
      <bio-journal></bio-journal>`;

export function exampleServer(options: ExampleOptions): Server {
  const cdn = `${options.serviceUrl}/cdn/v1`;
  const live = options.serviceUrl.replace(/^http/, 'ws');
  const policy =
    `default-src 'none'; script-src 'self' ${options.serviceUrl}; style-src 'self' ${options.serviceUrl}; img-src data:; ` +
    `connect-src 'self' ${options.serviceUrl} ${live}; form-action 'self'; base-uri 'none'; ` +
    `require-trusted-types-for 'script'; trusted-types lit-html`;

  const page = (body: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>My clinic</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="${cdn}/bio-widgets.css" />
    <link rel="stylesheet" href="/page.css" />
    <script src="${cdn}/bio-widgets.js"></script>
  </head>
  <body><main>${body}</main></body>
</html>`;

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const user = sessions.get(/session=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '');
    const send = (status: number, type: string, text: string): void => {
      response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': policy }).end(text);
    };
    const redirect = (to: string): void => void response.writeHead(303, { location: to }).end();

    switch (`${request.method} ${request.url}`) {
      case 'GET /page.css':
        return send(200, 'text/css', style);
      case 'GET /page.js':
        return send(200, 'text/javascript', script);
      case 'GET /sign-in':
        return send(200, 'text/html', page(signInForm));
      case 'POST /sign-in': {
        const form = new URLSearchParams(await readText(request));
        const name = form.get('name') ?? '';
        if (users.get(name) !== form.get('password'))
          return send(401, 'text/html', page(`<p role="alert">Wrong name or password.</p>${signInForm}`));
        const id = randomBytes(24).toString('base64url');
        sessions.set(id, name);
        response.setHeader('set-cookie', `session=${id}; HttpOnly; SameSite=Strict; Path=/`);
        return redirect('/');
      }
      case 'GET /':
        if (user === undefined) return redirect('/sign-in');
        return send(
          200,
          'text/html',
          page(`<h1>Hello ${user}</h1>
    <bio-provider sdk-key="${options.sdkKey}" base-url="${options.serviceUrl}"><div class="grid">${widgets}</div></bio-provider>
    <script type="module" src="/page.js"></script>`),
        );
      case 'POST /token': {
        if (user === undefined) return send(401, 'application/json', '{}');
        // The one call to the service: this user, by our own id, gets a token for an hour.
        const answer = await fetch(`${options.serviceUrl}/api/v1/sdk/token`, {
          method: 'POST',
          headers: { authorization: `Bearer ${options.apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ external_id: user, project_key: options.projectKey }),
        });
        return send(answer.ok ? 200 : 502, 'application/json', await answer.text());
      }
      case 'GET /direct':
        if (user === undefined) return redirect('/sign-in');
        return send(
          200,
          'text/html',
          page(`<h1>Internal tool</h1>
    <bio-provider base-url="${options.serviceUrl}" api-key="${options.apiKey}" project-key="${options.projectKey}" xuser-id="${user}">
      <div class="grid">${widgets}</div>
    </bio-provider>`),
        );
      default:
        return send(404, 'text/plain', 'Not found');
    }
  };
  return createServer((request, response) => {
    handle(request, response).catch(() => response.writeHead(500).end());
  });
}

const signInForm = `<form method="post" action="/sign-in"><h1>Sign in</h1>
      <label>Name <input name="name" autocomplete="username" required /></label>
      <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
      <button>Sign in</button></form>`;

const style = `
:root { color-scheme: light dark; }
body { margin: 0; padding: 16px; font-family: system-ui, sans-serif; background: light-dark(#eef1f4, #080c10); color: light-dark(#14191f, #e7edf3); }
main { max-inline-size: 1400px; margin-inline: auto; }
.grid { columns: 340px; column-gap: 14px; }
.grid > * { break-inside: avoid; margin-block-end: 14px; }
bio-trend-chart { column-span: all; }
form { display: grid; gap: 12px; max-inline-size: 320px; }
label { display: grid; gap: 4px; }
input, button { font: inherit; padding: 8px; }
`;

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString('utf8');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const env = (name: string, fallback: string | null): string => {
    const value = process.env[name] ?? fallback;
    if (value === null) {
      process.stderr.write(`Set ${name}; examples/web/README.md says to what.\n`);
      process.exit(1);
    }
    return value;
  };
  const options: ExampleOptions = {
    serviceUrl: env('BIO_URL', 'http://127.0.0.1:8080'),
    apiKey: env('BIO_API_KEY', null),
    projectKey: env('BIO_PROJECT_KEY', null),
    sdkKey: env('BIO_SDK_KEY', 'sdk_example'),
  };
  const port = Number(env('PORT', '3000'));
  exampleServer(options).listen(port, '127.0.0.1', () => process.stdout.write(`Open http://127.0.0.1:${port} and sign in as ada / demo\n`));
}
