/** Says the sentences of what moves a chart in the language of the chart. */
import type { ChartHost } from '../moves-host.ts';
import { moveTexts } from './strings.ts';
import type { MoveTextKey } from './strings.ts';

export type Say = (key: MoveTextKey, values?: Readonly<Record<string, string | number>>) => string;

export const wordsOf =
  (host: ChartHost): Say =>
  (key, values) =>
    host.kit.sentenceOf(moveTexts, host.locale(), key, values);
