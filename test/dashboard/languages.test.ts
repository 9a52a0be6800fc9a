/** The texts of the dashboard: none that stands outside the mechanism of dashboard/language.ts, none that nothing shows, and the same
 *  places for values in every language. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { de } from '../../dashboard/lang/de.ts';
import { es } from '../../dashboard/lang/es.ts';
import { fr } from '../../dashboard/lang/fr.ts';
import type { Translation } from '../../dashboard/language.ts';
import { featureMethods } from '../../src/dsp/rows/methods.ts';
import { errorTable } from '../../src/errors.ts';
import { de as german } from '../../widgets/lang/de.ts';
import { es as spanish } from '../../widgets/lang/es.ts';
import { fr as french } from '../../widgets/lang/fr.ts';
import { catalogRows } from '../helpers/catalog-rows.ts';

const root = join(import.meta.dirname, '../../dashboard');
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.startsWith('lang/'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));

type Node = Readonly<{ type: string; start: number; end: number }> & Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;

function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) if (isNode(child)) yield* nodesOf(child);
}

type Template = Readonly<{ quasis: readonly { value: { raw: string } }[] }>;
/** Stands for an expression of a template. */
const HOLE = '\uE000';
const spokenAttribute = /\s(?:aria-label|aria-description|aria-valuetext|placeholder|title|alt|heading|label)=(?:"([^"]*)"|([^\s>"]+))/g;
/** Same in every language, or not a language: marks, units, code that is to be typed, names. */
const isUniversal = (text: string): boolean =>
  /^[^\p{L}]*$/u.test(text.replaceAll(/&\w+;|&#\d+;|\b(?:biosignal|HTTP|JSON|SpO|Hz|ppm|mm|ms|R|V|S|E|N|s|h)\b/gu, '')) ||
  /^(?:https:|scripts\/|acme-|ecg\.|kg$|api_key\.|grip_|pain-diary)/.test(text) ||
  /^sum\(all\)$|^mean min max/.test(text);

/** Text of templates that a person reads and that no language can change. */
export function literalTexts(source: string): string[] {
  const found: string[] = [];
  for (const node of nodesOf(parseSync('page.ts', source).program as unknown as Node)) {
    if (node.type !== 'TaggedTemplateExpression' || (node['tag'] as Node)['name'] !== 'html') continue;
    const markup = (node['quasi'] as Template).quasis.map(({ value }) => value.raw).join(HOLE);
    const spoken = [...markup.matchAll(spokenAttribute)].map(([, quoted, bare]) => quoted ?? bare ?? '');
    const shown = markup.replaceAll(/<(?:"[^"]*"|[^<>"])*>/g, '\n').split('\n');
    for (const text of [...spoken, ...shown].map((one) => one.replaceAll(HOLE, ' ').trim())) if (!isUniversal(text)) found.push(text);
  }
  return found;
}

const formsOf = (translation: Translation): string[] => (typeof translation === 'string' ? [translation] : Object.values(translation));
const valuesOf = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g))].toSorted();

describe('the texts of the dashboard', () => {
  it('stand in templates only where they can be translated', () => {
    const found = sources.flatMap(({ name, text }) => literalTexts(text).map((literal) => `${name}: ${literal}`));
    expect(found).toEqual([]);
  });

  it('would be found if they stood elsewhere', () => {
    const page = 'html`<h1>Open episodes</h1><p title="Show more">${t(\'Save\')} until ${x}</p><b>${count} ms</b>`';
    expect(literalTexts(page)).toEqual(['Show more', 'Open episodes', 'until']);
  });

  it('are shown somewhere, or sent by the service', () => {
    const dashboard = sources.map(({ text }) => text).join('\n');
    const read = (folder: string, pattern: RegExp): string[] =>
      readdirSync(join(root, '..', folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => pattern.test(name))
        .map((name) => readFileSync(join(root, '..', folder, name), 'utf8'));
    const service = [...read('src', /(?<!\.test)\.ts$/), ...read('sql', /^\d+.*\.sql$/)].join('\n').replaceAll(/[{}]/g, "'");
    const isSaid = (text: string, where: string): boolean =>
      ["'", '"', '`'].some((mark) => where.includes(mark + text.replaceAll('\n', '\\n') + mark));
    const unused = Object.keys(de).filter(
      (text) =>
        !text.startsWith('error ') && !isSaid(text, dashboard) && !isSaid(text, service) && !isSaid(text.replaceAll(' ', '_'), service),
    );
    expect(unused).toEqual([]);
  });

  it.each(Object.entries({ de, es, fr }))('have the same places for values, and are not empty: %s', (_, texts) => {
    for (const [english, translation] of Object.entries<Translation>(texts)) {
      for (const form of formsOf(translation)) expect(valuesOf(form), english).toEqual(valuesOf(english));
      expect(formsOf(translation).join('').trim(), english).not.toBe('');
    }
  });

  it('include the name of every computed value', () => {
    const { phrases } = german;
    const names = featureMethods.map(({ feature }) => catalogRows.find((row) => row.feature === feature)!.name);
    expect(names.filter((name) => !(name in phrases))).toEqual([]);
    // One name, one translation: named() takes that of the catalog, t() that of the dashboard.
    for (const [own, { phrases: shared }] of [
      [de, german],
      [es, spanish],
      [fr, french],
    ] as const)
      expect(names.filter((name) => name in own && own[name as keyof typeof own] !== shared[name])).toEqual([]);
  });

  it('include a sentence for every error of the service', () => {
    const codes = Object.keys(errorTable).map((code) => `error ${code}`);
    expect(
      Object.keys(de)
        .filter((text) => text.startsWith('error '))
        .toSorted(),
    ).toEqual(codes.toSorted());
  });
});
