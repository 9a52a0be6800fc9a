/** Checks that hold for every answer, whatever the request and the caller. */
import type { Description, Given, Operation } from '../description.ts';
import { isAllowed } from './requests.ts';
import type { Request, Wire } from './requests.ts';
import { owners } from './world.ts';
import type { Credential, World } from './world.ts';

/** How a credential that may not is told so. Before who asks is looked at, its body is: type, size, form. */
const refusals = new Set([400, 401, 403, 404, 405, 413, 415, 429, 431]);

/** @returns what is wrong, each beginning with a word for its kind */
export function judge(description: Description, operation: Operation, request: Request, wire: Wire, world: World, answer: Given): string[] {
  const { status, text } = answer;
  const credential = world.credentials[request.credential]!;
  const found = description.breaches(operation, answer).map((breach) => `described: ${breach}`);
  if (status >= 500) found.push(`fault: ${status} ${text.slice(0, 300)}`);
  const allowed = isAllowed(operation, credential);
  if (!allowed && !refusals.has(status))
    found.push(`access: ${request.credential} may not and is answered ${status} ${text.slice(0, 200)}`);
  // Scopes and roles decide for everything; a request about another person may still be refused.
  if (allowed && operation.security.length > 0 && credential.kind === 'key' && status === 401)
    found.push(`access: ${request.credential} may and is answered 401 ${text.slice(0, 200)}`);
  for (const owner of owners) {
    const canary = world.canaries[owner];
    if (!credential.blind.includes(owner) || !text.includes(canary)) continue;
    if (asked(wire, canary)) continue;
    found.push(`canary: ${request.credential} sees what is ${owner}'s: ${around(text, canary)}`);
  }
  if (status < 300 && operation.security.length > 0 && isForeign(operation, request, credential))
    found.push(`foreign: ${request.credential} names a record of ${request.about} and is answered ${status} ${text.slice(0, 200)}`);
  return found;
}

/** What was said may be said back. */
const asked = ({ path, body = '' }: Wire, canary: string): boolean =>
  decodeURIComponent(path.replaceAll(/%(?![0-9a-f]{2})/gi, '%25')).includes(canary) || body.includes(canary);

const around = (text: string, canary: string): string => text.slice(Math.max(0, text.indexOf(canary) - 120), text.indexOf(canary) + 60);

/** Does it name, in its path and unchanged, a record that this credential may not see? The catalog of a project is visible to its
 *  members. */
const notPersonal = new Set(['projectId', 'questionnaireId', 'deviceId']);
function isForeign({ path }: Operation, { changes, about }: Request, { blind }: Credential): boolean {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!).filter((name) => !notPersonal.has(name));
  return named.length > 0 && blind.includes(about) && !changes.some((one) => one.at === 'path');
}
