/** The dashboard: sign-in, then pages chosen by the address's fragment. Everything it does, the public API does. */
import { html, nothing, render } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ApiError } from '../sdk/fetch-json.ts';
import type { Answer } from '../sdk/request.ts';
import { formatNumber } from '../widgets/shared/format.ts';
import { drawOnce } from './draw-once.ts';
import { Retry } from '../widgets/shared/ask-again.ts';
import { locale, problemOf, t } from './language.ts';
import type { PlainPhrase } from './language.ts';
import { languageMenu } from './language-menu.ts';
import { formValues } from './page.ts';
import type { Page, PageContext } from './page.ts';
import { paperFoot } from './paper-foot.ts';
import { ApiKeysPage } from './pages/api-keys.ts';
import { AuditPage } from './pages/audit.ts';
import { BiosignalsPage } from './pages/biosignals.ts';
import { DeviceProfilesPage } from './pages/device-profiles.ts';
import { DevicesPage } from './pages/devices.ts';
import { EpisodePage, EpisodesPage } from './pages/episodes.ts';
import { GroupsPage } from './pages/groups.ts';
import { MembersPage } from './pages/members.ts';
import { NotFoundPage } from './pages/not-found.ts';
import { OverviewPage } from './pages/overview.ts';
import { ProjectsPage } from './pages/projects.ts';
import { QualityPage } from './pages/quality.ts';
import { RecordingPage } from './pages/recording.ts';
import { RecordingsPage } from './pages/recordings.ts';
import { QuestionnairePage } from './pages/questionnaire.ts';
import { QuestionnairesPage } from './pages/questionnaires.ts';
import { ReportPage } from './pages/report.ts';
import { RulesPage } from './pages/rules.ts';
import { UserPage } from './pages/user.ts';
import { UsersPage } from './pages/users.ts';
import { VariabilityPage } from './pages/variability.ts';
import { WallPage } from './pages/wall.ts';
import { WebhooksPage } from './pages/webhooks.ts';
import { Search } from './search.ts';
import { call } from './service.ts';
import { SignInAgain } from './sign-in-again.ts';
import type { Member } from './service.ts';

type Entry = Readonly<{
  path: string;
  name: PlainPhrase;
  /** null: it is reached from another page. */
  group: 'Monitor' | 'Settings' | null;
  admin: boolean;
  open: (context: PageContext) => Page;
  /** The page of one of them, at an address that goes on. */
  openOne?: (context: PageContext) => Page;
}>;

const entries: readonly Entry[] = [
  { path: 'overview', name: 'Overview', group: 'Monitor', admin: false, open: (context) => new OverviewPage(context) },
  { path: 'wall', name: 'Wall', group: 'Monitor', admin: false, open: (context) => new WallPage(context) },
  {
    path: 'users',
    name: 'Users',
    group: 'Monitor',
    admin: false,
    open: (context) => new UsersPage(context),
    openOne: (context) => {
      if (context.argument.endsWith('/report')) return new ReportPage(context);
      return context.argument.endsWith('/recordings') ? new RecordingsPage(context) : new UserPage(context);
    },
  },
  {
    path: 'recordings',
    name: 'Recording',
    group: null,
    admin: false,
    open: (context) => new NotFoundPage(context),
    openOne: (context) => (context.argument.endsWith('/variability') ? new VariabilityPage(context) : new RecordingPage(context)),
  },
  { path: 'devices', name: 'Devices', group: 'Monitor', admin: false, open: (context) => new DevicesPage(context) },
  { path: 'quality', name: 'Signal quality', group: 'Monitor', admin: false, open: (context) => new QualityPage(context) },
  {
    path: 'episodes',
    name: 'Episodes',
    group: 'Monitor',
    admin: false,
    open: (context) => new EpisodesPage(context),
    openOne: (context) => new EpisodePage(context),
  },
  { path: 'rules', name: 'Rules', group: 'Monitor', admin: false, open: (context) => new RulesPage(context) },
  { path: 'groups', name: 'Groups', group: 'Monitor', admin: false, open: (context) => new GroupsPage(context) },
  { path: 'settings/keys', name: 'API keys', group: 'Settings', admin: true, open: (context) => new ApiKeysPage(context) },
  { path: 'settings/projects', name: 'Projects', group: 'Settings', admin: true, open: (context) => new ProjectsPage(context) },
  {
    path: 'settings/questionnaires',
    name: 'Questionnaires',
    group: 'Settings',
    admin: true,
    open: (context) => new QuestionnairesPage(context),
    openOne: (context) => new QuestionnairePage(context),
  },
  { path: 'settings/biosignals', name: 'Biosignals', group: 'Settings', admin: true, open: (context) => new BiosignalsPage(context) },
  { path: 'settings/devices', name: 'Device profiles', group: 'Settings', admin: true, open: (context) => new DeviceProfilesPage(context) },
  { path: 'settings/webhooks', name: 'Webhooks', group: 'Settings', admin: true, open: (context) => new WebhooksPage(context) },
  { path: 'settings/members', name: 'Members', group: 'Settings', admin: true, open: (context) => new MembersPage(context) },
  {
    path: 'audit',
    name: 'Audit log',
    group: 'Settings',
    admin: true,
    open: (context) => new AuditPage(context),
    openOne: (context) => new AuditPage(context),
  },
];
const nameOf = ({ name }: Entry): string => t(name);
const adminRoles: readonly string[] = ['admin', 'owner'];

const app = document.querySelector<HTMLElement>('#app')!;
app.replaceChildren();
const redraw = drawOnce(() => draw());
const search = new Search(redraw, () => draw(), locale);
const signInAgain = new SignInAgain(redraw, () => {
  page?.signedInAgain();
  search.signedInAgain();
});

/** undefined: not asked yet; null: nobody is signed in. */
let member: Member | null | undefined;
let page: Page | null = null;
let current: Entry | null = null;
let problem: string | null = null;
/** On a phone the sections are behind a button. */
let menuOpen = false;

/** Numbers next to the sections; null: not known. */
let counts: Answer<'getFleetCounts'> | null = null;
const COUNT_MS = 60_000;

function navigate(): void {
  if (member === null || member === undefined) return;
  const [address = '', filters = ''] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const { entry, argument } = find(address, visibleEntries(member));
  current = entry;
  page?.leave();
  search.leave();
  menuOpen = false;
  const context: PageContext = { redraw, locale, member, argument, query: new URLSearchParams(filters), recount };
  page = entry === null ? new NotFoundPage(context) : argument === '' ? entry.open(context) : entry.openOne!(context);
  page.start();
  redraw();
  void count();
}

/** The section of an address, and what of it is asked for. @returns null where there is none, or none that the role may open */
function find(address: string, allowed: readonly Entry[]): Readonly<{ entry: Entry | null; argument: string }> {
  if (address === '') return { entry: allowed[0]!, argument: '' };
  const entry = allowed.find(({ path, openOne }) => address === path || (openOne !== undefined && address.startsWith(`${path}/`)));
  try {
    return {
      entry: entry ?? null,
      argument: decodeURIComponent(address.slice(entry === undefined ? address.length : entry.path.length + 1)),
    };
  } catch {
    return { entry: null, argument: '' }; // a % that stands for nothing
  }
}

async function count(): Promise<void> {
  counts = (await call('GET', '/api/v1/fleet/counts').catch(() => null)) ?? counts;
  redraw();
}

function recount(known: typeof counts = null): void {
  if (known === null) return void count();
  counts = known;
  redraw();
}

function visibleEntries(who: Member): readonly Entry[] {
  return entries.filter((entry) => !entry.admin || adminRoles.includes(who.role));
}

/** Who is signed in. 401: nobody is; anything else is said, above the fields, and while the service is away it is asked again. */
async function askMember(): Promise<void> {
  try {
    const found = await call('GET', '/auth/session');
    if (isSignedIn()) return;
    [member, problem] = [found, null];
    navigate();
  } catch (error) {
    if (isSignedIn()) return;
    const isAnswer = error instanceof ApiError && error.status === 401;
    [member, problem] = [null, isAnswer ? null : problemOf(error)];
    memberRetry.later(error, () => void askMember());
  }
  draw();
}
const memberRetry = new Retry();
/** Also by hand, while that was asked. */
const isSignedIn = (): boolean => member !== null && member !== undefined;

async function signIn(event: SubmitEvent): Promise<void> {
  const { text } = formValues(event);
  try {
    member = await call('POST', '/auth/session', { body: { email: text('email'), password: text('password') } });
    problem = null;
    memberRetry.stop();
    navigate();
  } catch (error) {
    problem = error instanceof ApiError ? problemOf(error) : t('Signing in failed.');
  }
  redraw();
}

async function signOut(): Promise<void> {
  await call('DELETE', '/auth/session').catch(() => null);
  location.reload();
}

const brand = html`<a class="brand" href="#/overview"
  ><svg viewBox="0 0 32 20" aria-hidden="true"><path d="M1 11h7l2-5 4 13 4-18 3 10h10" /></svg><span>biosignal</span></a
>`;

function draw(): void {
  render(member === undefined ? nothing : member === null ? signInView() : shell(member), app);
  // Tabs of several people are told apart; of a person who may not be seen any more the page has forgotten the name.
  const title = page !== null && member !== null ? `${page.title} · biosignal` : 'biosignal';
  if (document.title !== title) document.title = title;
}

function signInView(): TemplateResult {
  return html`<main class="sign-in">
    <section class="card">
      ${brand}
      <h1>${t('Sign in')}</h1>
      ${problem === null ? nothing : html`<p class="problem" role="alert">${problem}</p>`}
      <form class="fields" @submit=${(event: SubmitEvent) => void signIn(event)}>
        <label>${t('E-mail')}<input name="email" type="email" required autocomplete="username" /></label>
        <label>${t('Password')}<input name="password" type="password" required autocomplete="current-password" /></label>
        <div><button class="primary">${t('Sign in')}</button></div>
      </form>
      ${languageMenu()}
      <details>
        <summary>${t('No account, or forgot your password?')}</summary>
        <p>${t('An owner or admin can add you under Members. To create the first account, run this on the server:')}</p>
        <code>scripts/biosignal.sh operator create you@example.org --role owner</code>
        <p>${t('To set a new password:')}</p>
        <code>scripts/biosignal.sh operator password you@example.org</code>
      </details>
    </section>
  </main>`;
}

function shell(who: Member): TemplateResult {
  const visible = visibleEntries(who);
  const group = (name: 'Monitor' | 'Settings'): TemplateResult | typeof nothing => {
    const items = visible.filter((entry) => entry.group === name);
    if (items.length === 0) return nothing;
    return html`<li class="group">${t(name)}</li>
      ${items.map(
        (entry) =>
          html`<li>
            <a href="#/${entry.path}" aria-current=${entry === current ? 'page' : nothing}>${nameOf(entry)}${badgeOf(entry)}</a>
          </li>`,
      )}`;
  };
  if (page?.isWhole === true) return html`${page.view()} ${paperFoot} ${search.view()} ${signInAgain.view(who)}`;
  return html`<a class="skip" href="#main" @click=${(event: Event) => skip(event)}>${t('Skip to content')}</a>
    <header class="top">
      <button
        type="button"
        class="menu"
        aria-expanded=${menuOpen ? 'true' : 'false'}
        aria-controls="sections"
        @click=${() => {
          menuOpen = !menuOpen;
          redraw();
        }}
      >
        <svg viewBox="0 0 20 14" aria-hidden="true"><path d="M1 1h18M1 7h18M1 13h18" /></svg
        ><span>${current === null ? t('Menu') : nameOf(current)}</span>
      </button>
      ${brand}
      <p class="who"></p>
      ${search.button()}
      <p class="name">${who.display_name || who.email} <span class="muted">${t(who.role)}</span></p>
      <button type="button" @click=${() => void signOut()}>${t('Sign out')}</button>
    </header>
    <div class="shell ${page?.isWide === true ? 'wide' : ''}">
      <nav id="sections" aria-label=${t('Sections')} class=${menuOpen ? 'open' : ''}>
        <ul>
          ${group('Monitor')} ${group('Settings')}
        </ul>
        ${languageMenu()}
      </nav>
      <main id="main" tabindex="-1">${page?.view() ?? nothing}</main>
    </div>
    ${paperFoot} ${search.view()} ${signInAgain.view(who)}`;
}

function badgeOf({ path }: Entry): TemplateResult | typeof nothing {
  if (counts === null) return nothing;
  const { episodes_open: open } = counts;
  if (path === 'episodes')
    return open === 0 ? nothing : html` <span class="count">${formatNumber(locale, open)}<span class="vh"> ${t('open')}</span></span>`;
  const many: Readonly<Record<string, readonly [count: number, of: string]>> = {
    users: [counts.people, ''],
    devices: [counts.devices, ''],
    rules: [counts.rules_on, t('switched on')],
    groups: [counts.groups, ''],
  };
  const [count, of] = many[path] ?? [0, ''];
  return count === 0 ? nothing : html` <span class="count quiet">${formatNumber(locale, count)}<span class="vh"> ${of}</span></span>`;
}

function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}

globalThis.addEventListener('hashchange', navigate);
globalThis.addEventListener('keydown', (event) => {
  if (member !== null && member !== undefined) search.key(event);
});
setInterval(() => {
  if (!document.hidden && member !== null && member !== undefined) void count();
}, COUNT_MS);
await askMember();
