/** Says what the service refuses of a form at the fields that it is about, in words for those who fill them in. */
import { ApiError } from '../sdk/fetch-json.ts';
import { t } from './language.ts';

type Refusal = ApiError['errors'][number];
/** A form's own words. @param path of the field in what was sent, e.g. ['email_to', '0'] @returns undefined: the general ones */
export type FieldWords = (path: readonly string[], refusal: Refusal) => string | undefined;

/** By the keyword of the schema. @returns null: there are none, and the service's own are said */
function generalWords({ code, detail }: Refusal): string | null {
  const limit = /-?\d[\d.]*(?:e[+-]?\d+)?/.exec(detail)?.[0] ?? '';
  switch (code) {
    case 'required':
    case 'minLength':
    case 'minItems':
      return t('This is needed.');
    case 'maxLength':
    case 'maxItems':
      return limit === '' ? null : t('This is too long: at most {limit}.', { limit });
    case 'minimum':
    case 'exclusiveMinimum':
      return limit === '' ? null : t('This is too little: at least {limit}.', { limit });
    case 'maximum':
    case 'exclusiveMaximum':
      return limit === '' ? null : t('This is too much: at most {limit}.', { limit });
    case 'uniqueItems':
      return t('The same stands there twice.');
    case 'characters':
      return t('This holds a character that cannot be stored.');
    case 'type':
      return detail.includes('integer') ? t('This has to be a whole number.') : t('This is not written as it has to be.');
    case 'pattern':
    case 'format':
    case 'enum':
    case 'const':
    case 'anyOf':
      return t('This is not written as it has to be.');
    default:
      return null;
  }
}

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

function controlOf(form: HTMLFormElement, path: readonly string[]): Control | null {
  for (const name of path) {
    const found = form.elements.namedItem(name);
    if (found instanceof HTMLInputElement || found instanceof HTMLTextAreaElement || found instanceof HTMLSelectElement) return found;
  }
  return null;
}

/** The name of a field, without what explains it. */
function nameOf(control: Control): string {
  const texts = [...(control.labels?.[0]?.childNodes ?? [])].filter((node) => node.nodeType === Node.TEXT_NODE);
  return texts.map((node) => node.textContent?.trim() ?? '').find((text) => text !== '') ?? '';
}

/** Takes away what was said of the form before. */
export function clearFieldProblems(form: HTMLFormElement): void {
  for (const line of form.querySelectorAll('.field-problem')) line.remove();
  for (const control of form.querySelectorAll('[aria-invalid]')) {
    control.removeAttribute('aria-invalid');
    control.removeAttribute('aria-describedby');
  }
}

/** Problems so far: a page has several forms with fields of one name. */
let problems = 0;

function sayAt(control: Control, words: string): void {
  const line = document.createElement('span');
  line.className = 'field-problem';
  problems += 1;
  line.id = `problem-${problems}-of-${control.name}`;
  line.textContent = words;
  line.ariaHidden = 'true'; // not a part of the field's name
  control.setAttribute('aria-invalid', 'true');
  control.setAttribute('aria-describedby', line.id);
  control.labels?.[0]?.append(line);
}

/** Says at the fields of a form what of them was refused, and leads there; it stays until something is typed.
 *  @returns the failure in words of the page; the same, if it is not about fields */
export function failureAtFields(form: HTMLFormElement, error: unknown, own: FieldWords = () => undefined): unknown {
  if (!(error instanceof ApiError) || error.errors.length === 0) return error;
  const refused = error.errors.map((refusal) => {
    const path = refusal.pointer.split('/').filter((part) => part !== '');
    const control = controlOf(form, path);
    return { control, words: own(path, refusal) ?? (control === null ? null : generalWords(refusal)) };
  });
  if (refused.some(({ words }) => words === null)) return error;
  clearFieldProblems(form);
  const said = new Set<Control>();
  const texts = new Set<string>();
  for (const { control, words } of refused) {
    if (control === null) texts.add(words!);
    else if (!said.has(control)) {
      sayAt(control, words!);
      texts.add(nameOf(control) === '' ? words! : `${nameOf(control)}: ${words!}`);
      said.add(control);
    }
  }
  form.addEventListener('input', () => clearFieldProblems(form), { once: true });
  const [first] = said;
  first?.focus();
  return new ApiError(-1, { code: error.code, detail: [...texts].join(' ') });
}
