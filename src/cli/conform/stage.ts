/** Creates and removes the resources of a run: two projects, keys that expire, people and devices named `conform-`. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../command.ts';
import { bearer, nobody } from './client.ts';
import type { Answer, Client, Credential } from './client.ts';
import { clearEarlier, TOKEN_LIFE_MS, unchanged } from './earlier.ts';
import { gotWords } from './words.ts';

export const scopeNames = ['read', 'write', 'ingest', 'admin'] as const;
export type ScopeName = (typeof scopeNames)[number];

const LOOK_EVERY_MS = 1000;
const PROJECT_NAME = 'conform';
const OTHER_PROJECT_NAME = 'conform other';

export type Person = Readonly<{ id: string; externalId: string; token: string; as: Credential }>;
export type Project = Readonly<{ id: string; key: string }>;
/** Records of the first person, by their names in paths. */
export type Ids = {
  user: string;
  externalId: string;
  project: string;
  projectKey: string;
  stream: string;
  device: string;
  episode: string;
  artifact: string;
  key: string;
  sdkKey: string;
  webhook: string;
  task: string;
  schedule: string;
  goal: string;
  annotation: string;
  rule: string;
  group: string;
  response: string;
};

/** @param endMs when the run must be over, Unix ms */
export type StageOptions = Readonly<{ key: string; project: string; newProject: boolean; endMs: number }>;

/** A credential, or why there is none. */
export type Possibly = Credential | string;

export class Stage {
  readonly run = randomBytes(4).toString('hex');
  readonly operator: Credential;
  /** Every scope that the given key has, confined to the project. */
  full: Possibly = 'there is no key yet';
  byScope: Record<ScopeName, Possibly> = { read: '', write: '', ingest: '', admin: '' };
  /** The same for the other project. */
  otherFull: Possibly = 'there is no second project';
  project: Project = { id: '', key: '' };
  otherProject: Project | null = null;
  /** Settings and origins may be changed: only runs use the project. */
  ownProject = true;
  /** Leftovers of earlier runs; '' for none. */
  earlier = '';
  scopes: ScopeName[] = [];
  readonly ids: Ids = {
    user: '',
    externalId: '',
    project: '',
    projectKey: '',
    stream: '',
    device: '',
    episode: '',
    artifact: '',
    key: '',
    sdkKey: '',
    webhook: '',
    task: '',
    schedule: '',
    goal: '',
    annotation: '',
    rule: '',
    group: '',
    response: '',
  };
  readonly #client: Client;
  readonly #options: StageOptions;
  readonly #keyIds: string[] = [];
  /** External ids by uuid; erasing asks for both. */
  readonly #people = new Map<string, string>();
  readonly #sdkKeys: { projectId: string; id: string }[] = [];
  readonly #webhooks = new Set<string>();
  readonly #before = new Map<string, { origins: unknown; settings: unknown }>();

  constructor(client: Client, options: StageOptions) {
    this.#client = client;
    this.#options = options;
    this.operator = bearer('the given key', options.key);
  }

  name(what: string): string {
    return `conform-${this.run}-${what}`;
  }

  /** Finds or makes the projects, and makes the keys. @throws UsageError, Error when the key does not suffice */
  async begin(): Promise<void> {
    await this.#chooseProjects();
    this.ids.project = this.project.id;
    this.ids.projectKey = this.project.key;
    const projects = [this.project, this.otherProject].flatMap((project) => (project === null ? [] : [project.id]));
    const { said, isUnderWay } = await clearEarlier(this.#client, this.operator, projects, this.ownProject);
    this.earlier = said;
    for (const id of projects) {
      // Settings that another run is using must not become permanent.
      if (this.ownProject && isUnderWay) this.#before.set(id, unchanged);
      else if (this.ownProject) await this.#remember(id);
    }
    for (const scope of scopeNames) {
      this.byScope[scope] = await this.key(`a key of scope ${scope}`, [scope], this.project);
      if (typeof this.byScope[scope] !== 'string') this.scopes.push(scope);
    }
    this.full = await this.key('a key of every scope', this.scopes, this.project);
    await this.key('a key to be looked for', ['admin'], this.project);
    this.ids.key = this.lastKeyId;
    if (this.otherProject !== null) this.otherFull = await this.key("another project's key", this.scopes, this.otherProject);
    if (typeof this.byScope.admin === 'string') throw new Error(`the key cannot make keys: ${this.byScope.admin}`);
  }

  /** Creates a key with an expiry; returns it, or why it could not be created. */
  async key(name: string, scopes: readonly ScopeName[], project: Project | null, lifeMs = this.#keyLifeMs()): Promise<Possibly> {
    const body = {
      name: this.name('key'),
      scopes,
      project_id: project?.id ?? null,
      expires_at: new Date(Date.now() + lifeMs).toISOString(),
    };
    const answer = await this.#client.send({ method: 'POST', path: '/api/v1/api-keys', as: this.operator, body });
    if (answer.code === 'scope_missing') return `the given key lacks the scope ${scopes.join(', ')}`;
    const { id, key } = made<{ id: string; key: string }>(answer, 'a key could not be made');
    this.#keyIds.push(id);
    this.#client.keepSecret(key);
    return bearer(name, key);
  }

  /** Life of keys, so that those of a run that could not clean up expire. */
  #keyLifeMs(): number {
    return this.#options.endMs + TOKEN_LIFE_MS - Date.now();
  }

  get lastKeyId(): string {
    return this.#keyIds.at(-1) ?? '';
  }

  /** A person of a project, with a token. */
  async person(what: string, project: Project = this.project): Promise<Person> {
    const externalId = this.name(what);
    const as = project === this.project ? this.full : this.otherFull;
    if (typeof as === 'string') throw new Error(as);
    const body = { external_id: externalId, project_key: project.key };
    const answer = await this.#client.send({ method: 'POST', path: '/api/v1/sdk/token', as, body });
    const { xuser_token: token, xuser_id: id } = made<{ xuser_token: string; xuser_id: string }>(answer, 'a token could not be minted');
    this.#people.set(id, externalId);
    return { id, externalId, token, as: bearer(`the token of ${what}`, token) };
  }

  /** Notes a person created by a check, to be erased at the end. */
  notePerson(id: string, externalId: string): void {
    this.#people.set(id, externalId);
  }
  noteSdkKey(projectId: string, id: string): void {
    this.#sdkKeys.push({ projectId, id });
  }
  noteWebhook(id: string): void {
    this.#webhooks.add(id);
  }

  /** Removes everything that the interface allows to be removed.  @param client a fresh one: the run's may be used up  @returns sentences
   *  about what remains */
  async end(client: Client): Promise<string[]> {
    if (this.#keyIds.length === 0) return [];
    if (!(await isThere(client))) return [AWAY];
    const stays: string[] = [];
    const ask = async (method: string, path: string, body?: unknown, fine: readonly number[] = []): Promise<void> => {
      try {
        const answer = await client.send({ method, path, as: this.operator, ...(body === undefined ? {} : { body }) });
        if (answer.status >= 300 && !fine.includes(answer.status)) stays.push(`${method} ${path}: ${gotWords(answer)}`);
      } catch (error) {
        stays.push(`${method} ${path}: ${error instanceof Error ? error.message : String(error)}`);
      }
    };
    for (const id of this.#webhooks) await ask('DELETE', `/api/v1/webhooks/${id}`, undefined, [404]);
    for (const { projectId, id } of this.#sdkKeys) await ask('DELETE', `/api/v1/projects/${projectId}/sdk-keys/${id}`, undefined, [404]);
    for (const [id, { origins, settings }] of this.#before) {
      await ask('PUT', `/api/v1/projects/${id}/origins`, origins);
      await ask('PUT', `/api/v1/projects/${id}/settings`, settings);
    }
    for (const [id, externalId] of await this.#everybody(client))
      await ask('POST', `/api/v1/xusers/${id}/erase`, { confirm_external_id: externalId }, [404]);
    for (const id of this.#keyIds) await ask('DELETE', `/api/v1/api-keys/${id}`, undefined, [404]);
    return stays;
  }

  /** People created, including by a packet or request that should have been refused. */
  async #everybody(client: Client): Promise<ReadonlyMap<string, string>> {
    const all = new Map(this.#people);
    const path = `/api/v1/xusers?search=${this.name('')}&limit=1000`;
    const answer = await client.send({ method: 'GET', path, as: this.operator }).catch(() => null);
    if (answer?.status === 200) {
      for (const { xuser_id: id, external_id: externalId } of answer.json as { xuser_id: string; external_id: string }[]) {
        if (externalId.startsWith(this.name(''))) all.set(id, externalId);
      }
    }
    return all;
  }

  async #chooseProjects(): Promise<void> {
    const listed = await this.#client.send({ method: 'GET', path: '/api/v1/projects', as: this.operator });
    const projects = made<{ id: string; name: string; project_key: string }[]>(listed, 'the projects could not be listed');
    if (!Array.isArray(projects)) throw new Error('the projects could not be listed: what came is no list');
    const named = (name: string): Project | null => {
      const found = projects.find((one) => one.name === name);
      return found === undefined ? null : { id: found.id, key: found.project_key };
    };
    if (this.#options.project !== '') {
      const found = projects.find(({ id, project_key: key }) => id === this.#options.project || key === this.#options.project);
      if (found === undefined) throw new UsageError(`there is no project ${this.#options.project} that this key may use`);
      this.project = { id: found.id, key: found.project_key };
      this.ownProject = false;
      return;
    }
    const own = named(PROJECT_NAME);
    if (own === null && projects.length === 1 && !this.#options.newProject) throw new UsageError(ONE_PROJECT);
    this.project = own ?? (await this.#makeProject(PROJECT_NAME));
    this.otherProject = named(OTHER_PROJECT_NAME) ?? (await this.#makeProject(OTHER_PROJECT_NAME));
  }

  async #makeProject(name: string): Promise<Project> {
    const answer = await this.#client.send({ method: 'POST', path: '/api/v1/projects', as: this.operator, body: { name } });
    const hint = answer.status === 403 ? ' Name one with --project.' : '';
    const { id, project_key: key } = made<{ id: string; project_key: string }>(answer, `the project '${name}' could not be made.${hint}`);
    return { id, key };
  }

  async #remember(projectId: string): Promise<void> {
    const read = async (what: string): Promise<unknown> => {
      const answer = await this.#client.send({ method: 'GET', path: `/api/v1/projects/${projectId}/${what}`, as: this.operator });
      return made(answer, `the ${what} of the project could not be read`);
    };
    this.#before.set(projectId, { origins: await read('origins'), settings: await read('settings') });
  }
}

/** Waits for a restarting service, as long as the client may. */
async function isThere(client: Client): Promise<boolean> {
  while (!client.signal.aborted) {
    const answer = await client.send({ method: 'GET', path: '/readyz', as: nobody }, 1).catch(() => null);
    if (answer?.status === 200) return true;
    await sleep(LOOK_EVERY_MS, undefined, { signal: client.signal }).catch(() => undefined);
  }
  return false;
}

const AWAY = "the service is away: the run's people, keys and webhooks are still there; a later run takes them away";
const ONE_PROJECT = `the organization has one project, and a second would change what its keys may leave out: POST /api/v1/xusers
without project_key, and packets for people who are not known yet, are refused where there are several projects.
  Give a key of an organization for tests ('biosignal org create conform --project conform'),
  or name the project to work in with --project ID (checks that change its settings are skipped),
  or say --new-project when nothing relies on there being one.`;

function made<T>(answer: Answer, otherwise: string): T {
  if (answer.status >= 300) throw new Error(`${otherwise} (${gotWords(answer)})`);
  return answer.json as T;
}
