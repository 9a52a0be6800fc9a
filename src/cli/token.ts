/** `biosignal token mint`: a user token, as an application's backend would ask for it. */
import { problemOf } from './client/http-sender.ts';
import type { Command } from './command.ts';
import { EXIT_OK, UsageError } from './command.ts';

export const token: Command = {
  name: 'token',
  summary: 'Mint a user token.',
  positionals: 'mint EXTERNAL_ID',
  verbs: true,
  description: 'Calls POST /api/v1/sdk/token and prints only the token, for use in $(...); --json prints the whole answer.',
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_URL', fallback: 'http://127.0.0.1:8080', doc: 'Address of the service.' },
    key: { type: 'string', value: 'KEY', env: 'BIO_KEY', doc: 'Organization key of scope write.' },
    project: { type: 'string', value: 'PROJECT_KEY', doc: 'proj_...' },
  },
  examples: ['biosignal token mint patient-7 --project proj_...'],
  run: async ({ console, options, positionals, json }) => {
    const [, externalId] = positionals;
    if (externalId === undefined) throw new UsageError('mint needs EXTERNAL_ID');
    const response = await fetch(new URL('/api/v1/sdk/token', options.text('to')), {
      method: 'POST',
      headers: { authorization: `Bearer ${options.required('key')}`, 'content-type': 'application/json' },
      body: JSON.stringify({ external_id: externalId, project_key: options.required('project') }),
      signal: AbortSignal.any([console.signal, AbortSignal.timeout(30_000)]),
    });
    const text = await response.text();
    if (!response.ok) throw problemOf(response.status, text);
    const answer = JSON.parse(text) as { xuser_token: string };
    console.out(json ? JSON.stringify(answer, null, 2) : answer.xuser_token);
    return EXIT_OK;
  },
};
