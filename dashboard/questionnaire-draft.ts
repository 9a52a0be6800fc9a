/** A questionnaire as the editor holds it: what can be written in a form, and the FHIR resource that it stands for.
 *  What the form cannot show (groups, enableWhen) is kept as it is in the resource and edited as JSON. */
import { MAX_VALUE, MIN_VALUE, ORDINAL_VALUE } from '../sdk/questionnaire.ts';
import type { BodyOf } from '../sdk/request.ts';
import type { QuestionnaireItem, QuestionnaireVersion, Scoring } from './service.ts';

export type Draft = { title: string; description: string; item: QuestionnaireItem[]; scoring: Scoring };

export function draftOf(version: QuestionnaireVersion | null): Draft {
  if (version === null) {
    return {
      title: '',
      description: '',
      item: [{ linkId: 'q1', text: '', type: 'choice', required: true, answerOption: [] }],
      scoring: { scores: [], safety: [] },
    };
  }
  const { title, description = '', item } = structuredClone(version.resource);
  return { title, description, item: [...item], scoring: mutable(structuredClone(version.scoring)) };
}

const mutable = ({ scores, safety }: QuestionnaireVersion['scoring']): Scoring => ({ scores: [...scores], safety: [...safety] });

/** What the service takes. */
export function bodyOf({ title, description, item, scoring }: Draft): BodyOf<'publishQuestionnaire'> {
  return { resource: { title, ...(description === '' ? {} : { description }), item }, scoring };
}

/** "Not at all = 0", one a line. */
export function optionLines(item: QuestionnaireItem): string {
  return (item.answerOption ?? [])
    .map(({ valueCoding, extension }) => {
      const points = extension?.find(({ url }) => url === ORDINAL_VALUE);
      const value = points?.valueDecimal ?? points?.valueInteger;
      return `${valueCoding.display ?? valueCoding.code}${value === undefined ? '' : ` = ${value}`}`;
    })
    .join('\n');
}

/** Codes of options that stay keep theirs, so that answers of earlier versions mean the same. */
export function optionsFrom(text: string, before: QuestionnaireItem): QuestionnaireItem['answerOption'] {
  const known = new Map(
    (before.answerOption ?? []).map((option) => [option.valueCoding.display ?? option.valueCoding.code, option.valueCoding]),
  );
  const taken = new Set<string>();
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line, i) => {
      const match = /^(.*?)\s*=\s*(-?\d+(?:\.\d+)?)$/.exec(line);
      const display = match?.[1] ?? line;
      const coding = known.get(display);
      let code = coding?.code ?? `${before.linkId}-${i}`;
      while (taken.has(code)) code += 'x';
      taken.add(code);
      const valueCoding = coding === undefined ? { code, display } : { ...coding, code };
      return match === null ? { valueCoding } : { valueCoding, extension: [{ url: ORDINAL_VALUE, valueDecimal: Number(match[2]) }] };
    });
}

export function limitsOf(item: QuestionnaireItem): { min: string; max: string } {
  const find = (url: string): string => {
    const extension = item.extension?.find((entry) => entry.url === url);
    return String(extension?.valueDecimal ?? extension?.valueInteger ?? '');
  };
  return { min: find(MIN_VALUE), max: find(MAX_VALUE) };
}

export function withLimits(item: QuestionnaireItem, min: string, max: string): QuestionnaireItem {
  const extension = [
    ...(min === '' ? [] : [{ url: MIN_VALUE, valueDecimal: Number(min) }]),
    ...(max === '' ? [] : [{ url: MAX_VALUE, valueDecimal: Number(max) }]),
  ];
  const { extension: _, ...rest } = item;
  return extension.length === 0 ? rest : { ...rest, extension };
}

/** "0 minimal, 5 mild" */
export function bandText(bands: Scoring['scores'][number]['bands']): string {
  return (bands ?? []).map(({ from, text }) => `${from} ${text}`).join(', ');
}

export function bandsFrom(text: string): { from: number; text: string }[] {
  return text
    .split(',')
    .map((part) => /^\s*(-?\d+(?:\.\d+)?)\s+(.+?)\s*$/.exec(part))
    .filter((match) => match !== null)
    .map((match) => ({ from: Number(match[1]), text: match[2] ?? '' }));
}

/** Every question that can be answered, groups opened. */
export function questionsOf(items: readonly QuestionnaireItem[]): QuestionnaireItem[] {
  return items.flatMap((item) =>
    item.type === 'group' || item.type === 'display' ? questionsOf(item.item ?? []) : [item, ...questionsOf(item.item ?? [])],
  );
}
