/** The dashboard's calls: the public API, with the operator's cookie. */
import { ApiError, fetchJson } from '../sdk/fetch-json.ts';
import { addressOf } from '../sdk/request.ts';
import type { Answer, AnyRequest, BodyOf, Method, OperationAt, PathOf, RequestArguments } from '../sdk/request.ts';
import { t } from './language.ts';
import { isAsSent, LostAnswers } from './lost-answers.ts';
import type { Sent } from './lost-answers.ts';
import { sessionEnded } from './session-ended.ts';

/** @param isFirst only where there is none yet */
type Tagged = Readonly<{ etag?: string; isFirst?: true }>;
type Args<M extends Method, P extends string> = RequestArguments<OperationAt<M, P>, Tagged>;
type AnswerAt<M extends Method, P extends string> = Answer<OperationAt<M, P>>;
/** @param next the address of the following page, null after the last one */
type Page<Items> = { items: Items; next: string | null };

/** Calls an operation by its method and its path with `{parameters}`; a change with the `etag` of what it is a change of.
 *  @returns its JSON, null when the answer has no body */
export async function call<M extends Method, P extends PathOf<M>>(method: M, path: P, ...args: Args<M, P>): Promise<AnswerAt<M, P>> {
  return (await callTagged(method, path, ...args)).value;
}

/** The same, with the ETag of the answer, for a change that is made of it. */
export async function callTagged<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  ...args: Args<M, P>
): Promise<{ value: AnswerAt<M, P>; etag: string }> {
  const request = args[0] as (AnyRequest & Tagged) | undefined;
  const { text, headers } = await ask(method, addressOf(path, request), request);
  return { value: (text === '' ? null : JSON.parse(text)) as AnswerAt<M, P>, etag: headers.get('etag') ?? '' };
}

/** A page of a list: the first, or the one at `next` of the page before. */
export async function callList<P extends PathOf<'GET'>>(path: P, ...args: Args<'GET', P>): Promise<Page<AnswerAt<'GET', P>>> {
  return callNext(path, addressOf(path, args[0] as AnyRequest | undefined));
}

export async function callNext<P extends PathOf<'GET'>>(_path: P, next: string): Promise<Page<AnswerAt<'GET', P>>> {
  const { text, headers } = await ask('GET', next);
  return {
    items: JSON.parse(text) as AnswerAt<'GET', P>,
    next: /<([^>]+)>;\s*rel="?next/.exec(headers.get('link') ?? '')?.[1] ?? null,
  };
}

/** A list to its end, page after page. */
export async function callAll<P extends PathOf<'GET'>>(path: P, ...args: Args<'GET', P>): Promise<AnswerAt<'GET', P>> {
  const all: unknown[] = [];
  let page = await callList(path, ...args);
  all.push(...(page.items as readonly unknown[]));
  while (page.next !== null) {
    page = await callNext(path, page.next);
    all.push(...(page.items as readonly unknown[]));
  }
  return all as AnswerAt<'GET', P>;
}

/** performance.now() of the last sign-in on this page. */
let signedInMs = 0;

const lostAnswers = new LostAnswers();

/** It may have been made. */
export const isUnanswered = (error: unknown): boolean => error instanceof ApiError && (error.status === 0 || error.status >= 500);

/** Call once the page has read what became of changes without an answer: who does the same then does it anew. */
export const forgetLostAnswers = (): void => lostAnswers.clear();

type Whole = Readonly<{ text: string; headers: Headers }>;

async function ask(method: string, address: string, request?: AnyRequest & Tagged): Promise<Whole> {
  if (method === 'GET') return await askOnce(method, address, {}, undefined);
  const { body, etag = '', isFirst } = request ?? {};
  const sent = lostAnswers.begin(method, address, body, etag);
  const headers = {
    ...(etag !== '' && { 'if-match': etag }),
    ...(isFirst === true && { 'if-none-match': '*' }),
    ...(method === 'POST' && address.startsWith('/api/') && { 'idempotency-key': sent.key }),
  };
  try {
    const answer = await askOnce(method, address, headers, body);
    lostAnswers.end(sent);
    return answer;
  } catch (error) {
    const { status } = error as ApiError;
    const made = sent.isAgain && (status === 404 || status === 412) ? await madeBefore(sent, status, body) : null;
    if (isUnanswered(error)) lostAnswers.lose(sent);
    else if (made === null) lostAnswers.refuse(sent, status);
    if (made === null) throw error;
    lostAnswers.end(sent);
    return made;
  }
}

/** What is sent again because its answer was lost, and refused: the first may have been made, and is then what is there.
 *  @returns null: it was not */
async function madeBefore({ method, address }: Sent, status: number, body: unknown): Promise<Whole | null> {
  if (method === 'DELETE' && status === 404) return { text: '', headers: new Headers() };
  try {
    const now = await askOnce('GET', address, {}, undefined);
    const record = JSON.parse(now.text) as { deleted?: boolean };
    if (method === 'DELETE') return record.deleted === true ? { ...now, text: '' } : null;
    return record.deleted !== true && isAsSent(record, body) ? now : null;
  } catch {
    return null;
  }
}

/** @throws ApiError also where the answer did not come, or not all of it */
async function askOnce(method: string, address: string, headers: Readonly<Record<string, string>>, body: unknown): Promise<Whole> {
  const askedMs = performance.now();
  try {
    const response = await fetchJson(address, { method, credentials: 'same-origin', body, headers });
    if (method === 'POST' && address === '/auth/session') signedInMs = performance.now();
    const text = await response.text();
    if (text !== '') JSON.parse(text); // of one that was cut short something came
    return { text, headers: response.headers };
  } catch (error) {
    if (!(error instanceof ApiError)) {
      throw new ApiError(0, { code: 'network', detail: t('The service did not respond. Check your connection and try again.') });
    }
    // For every request, also where a failure is not shown. Signing in is refused with 401, too.
    // One that was on its way while the member signed in again had the former session.
    if (error.status === 401 && !address.startsWith('/auth/') && askedMs >= signedInMs) sessionEnded();
    const fields = error.errors.map(({ pointer, detail }) => `${pointer.replace(/^\/(body|query)?\/?/, '')} ${detail}`).join('; ');
    if (fields !== '') error.message = fields;
    throw error;
  }
}

export type Member = Answer<'getSession'>;
export type ListedMember = Answer<'listMembers'>[number];
export type Project = Answer<'listProjects'>[number];
export type ApiKey = Answer<'listApiKeys'>[number];
export type NewApiKey = Answer<'createApiKey'>;
export type SdkKey = Answer<'listSdkKeys'>[number];
export type Xuser = Answer<'getUser'>;
export type ListedUser = Answer<'listUsers'>[number];
export type Stream = Answer<'listStreams'>[number];
export type AuditEntry = Answer<'listAuditLog'>[number];
export type Device = Answer<'listDevices'>[number];
export type QualityOfUser = Answer<'getSignalQuality'>[number];
export type EpisodeLine = Answer<'listRecentEpisodes'>[number];
export type EpisodeDetail = Answer<'getEpisode'>;
export type Rule = Answer<'listRules'>[number];
export type TriedRule = Answer<'tryRule'>;
export type Group = Answer<'listGroups'>[number];
export type MethodOfValue = Answer<'listMethods'>[number];
export type MarkBody = BodyOf<'createAnnotation'>;
export type Webhook = Answer<'listWebhooks'>[number];
export type QuestionnaireAnswer = Answer<'listQuestionnaireResponses'>[number];
export type Mood = Answer<'listMoods'>[number];
export type Task = Answer<'listTasks'>[number];
export type Adherence = Answer<'getAdherence'>['schedules'][number];
export type Goal = Answer<'listGoals'>[number];
export type Observation = Answer<'listObservations'>[number];
export type Delivery = Answer<'listDeliveries'>[number];
export type Biosignal = Answer<'listBiosignals'>[number];
export type DeviceProfile = Answer<'listDeviceProfiles'>[number];
export type ProjectSettings = Answer<'getProjectSettings'>;
type Published = BodyOf<'publishQuestionnaire'>;
type ItemAtTop = Published['resource']['item'][number];
export type QuestionnaireItem = Omit<ItemAtTop, 'item'> & Readonly<{ item?: readonly QuestionnaireItem[] }>;
export type ScoreRule = Published['scoring']['scores'][number];
export type Scoring = { scores: ScoreRule[]; safety: Published['scoring']['safety'][number][] };
/** Of the resource the API says that it is FHIR; what was published by this page, or ships with the service, is also this. */
export type QuestionnaireVersion = Answer<'publishQuestionnaire'> &
  Readonly<{ resource: Readonly<{ title: string; description?: string; item: readonly QuestionnaireItem[] }> }>;
