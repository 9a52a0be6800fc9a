/** Tasks of a person for today, to be marked done or skipped.
 *
 *  @tag bio-task-list
 *  @attr {string} heading
 *  @attr {boolean} readonly - shows the tasks only
 *  @attr {string} refresh - how often to fetch, e.g. `30s`; `0` never. Default `60s`
 *  @attr {string} lang
 *  @attr {string} tz
 *  @attr {string} theme
 *  @prop {string} state - loading, ready, empty, stale, offline, error or unauthorized (read only)
 *  @csspart card
 *  @csspart head
 *  @csspart title
 *  @csspart task
 *  @csspart note
 *  @csspart button
 *  @fires bio:state - {state} whenever the state changes
 *  @fires bio:task - {id, status} when a task was marked */
import { define, html, nothing } from '../shared/base.ts';
import { EntryWidget } from '../shared/entry-widget.ts';
import { fieldCss } from '../shared/field-css.ts';
import { formatTime } from '../shared/format.ts';
import type { Session } from '../shared/session.ts';

const css = `${fieldCss}
.tasks li { display: grid; grid-template-columns: 1fr auto; gap: 4px 12px; align-items: center; padding: 10px 0; border-block-start: 1px solid var(--_line); }
.tasks h3 { font-size: 1rem; font-weight: 500; overflow-wrap: anywhere; }
.tasks p { overflow-wrap: anywhere; }
.late { color: var(--_suspect); }
.closed h3 { color: var(--_muted); text-decoration: line-through; }
@container (max-width: 340px) { .tasks li { grid-template-columns: 1fr; } }
`;

type Task = Readonly<{
  id: string;
  title: string;
  description?: string | null;
  due?: string | null;
  status: 'due' | 'done' | 'skipped';
  /** Done by answering it, and not by a mark. */
  questionnaire?: string | null;
}>;
type Mark = Readonly<{ status: Task['status'] }>;

export class BioTaskList extends EntryWidget<readonly Task[]> {
  static override styles = css;
  static observedAttributes = ['heading', 'readonly', 'refresh', 'lang', 'tz', 'theme'];
  protected override readonly kind = 'task';
  protected override readonly quiet = true;
  /** Marks that are on their way, by task. */
  #marked = new Map<string, Task['status']>();

  protected override heading(): string {
    return this.getAttribute('heading') ?? this.say('tasks');
  }

  protected override emptyText(): string {
    return this.say('tasksEmpty');
  }

  protected override form(): typeof nothing {
    return nothing;
  }

  protected override async load(session: Session, signal: AbortSignal): Promise<readonly Task[] | null> {
    const tasks = await session.get('/api/v1/tasks', { signal });
    return tasks.length > 0 ? tasks : null;
  }

  protected override reset(): void {
    super.reset();
    this.#marked.clear();
  }

  async #mark(task: Task, status: Task['status']): Promise<void> {
    this.#marked.set(task.id, status);
    this.requestUpdate();
    const mark: Mark & { time: string } = { status, time: new Date().toISOString() };
    const answer = await this.keep('/api/v1/tasks/{taskId}/status', { params: { taskId: task.id }, body: mark });
    if (answer !== null) this.#marked.delete(task.id);
    this.emit('bio:task', { id: task.id, status });
  }

  protected override content(tasks: readonly Task[]) {
    return html`<ul class="tasks">
      ${tasks.map((task) => this.#task(task, this.#marked.get(task.id) ?? task.status))}
    </ul>`;
  }

  #task(task: Task, status: Task['status']) {
    const dueMs = task.due ? Date.parse(task.due) : Number.NaN;
    const late = status === 'due' && dueMs < Date.now();
    const when = Number.isNaN(dueMs) ? '' : formatTime(this.locale, dueMs, this.timeZone);
    const answered = (task.questionnaire ?? null) !== null;
    const button = (key: 'done' | 'skip' | 'undo', next: Task['status'], primary = false) =>
      html`<button type="button" part="button" class=${primary ? 'primary' : ''} @click=${() => void this.#mark(task, next)}>
        ${this.say(key)}<span class="vh">: ${task.title}</span>
      </button>`;
    return html`<li part="task" class=${status === 'due' ? '' : 'closed'}>
      <div>
        <h3>${task.title}</h3>
        ${task.description ? html`<p class="muted">${task.description}</p>` : nothing}
        <p class=${late ? 'late muted' : 'muted'}>
          ${
            status === 'due'
              ? when === ''
                ? nothing
                : html`${late ? '▲ ' : ''}${this.say(late ? 'overdue' : 'due', { time: when })}`
              : this.say(status === 'done' ? 'done' : 'skipped')
          }
        </p>
      </div>
      ${
        this.hasAttribute('readonly')
          ? nothing
          : html`<div class="row">
              ${
                status !== 'due'
                  ? answered && status === 'done'
                    ? nothing
                    : button('undo', 'due')
                  : [answered ? nothing : button('done', 'done', true), button('skip', 'skipped')]
              }
            </div>`
      }
    </li>`;
  }
}

define('bio-task-list', BioTaskList);
