/** Types between a chart and what moves it, which is a bundle of its own: each sees the other only through these. */
import type { html, nothing, TemplateResult } from 'lit-html';
import type UPlot from 'uplot';
import type { ChartRequest, queryChart, Series } from '../shared/data.ts';
import type { Session } from '../shared/session.ts';
import type { View } from './plot.ts';

/** So long until now, or from one time to another. */
export type ChartRange = Readonly<{ range: string }> | View;

export type Shown = View &
  Readonly<{
    series: readonly Series[];
    /** The range ends now. */
    live: boolean;
    /** One value for each day. */
    daily: boolean;
    /** The range has no value of any series. */
    empty: boolean;
  }>;

export type ChartHost = Readonly<{
  element: HTMLElement;
  root: ShadowRoot;
  data: () => Shown | null;
  plots: () => readonly UPlot[];
  /** Its numbers are shown in place of the plots. */
  asTable: () => boolean;
  /** What was asked for, and what is drawn: the one before until the data are here. */
  range: () => ChartRange;
  view: () => View | null;
  session: () => Session | null;
  locale: () => string;
  timeZone: () => string | undefined;
  /** Row that is read, and how to read another. */
  cursor: () => number | null;
  read: (row: number | null) => void;
  /** Says something in place of what is read; null: no more. */
  note: (text: string | null) => void;
  /** Draws another part of the axis from what is here. */
  preview: (view: View) => void;
  /** Fetches another range; `back`: the one before, of which there are `depth`. */
  show: (range: ChartRange) => void;
  back: () => void;
  depth: () => number;
  redraw: () => void;
  fire: (name: string, detail: unknown) => void;
  /** The page has these once. */
  kit: Readonly<{
    html: typeof html;
    nothing: typeof nothing;
    queryChart: typeof queryChart;
    sentenceOf: (
      texts: Readonly<Record<string, string>>,
      locale: string,
      key: string,
      values?: Readonly<Record<string, string | number>>,
    ) => string;
  }>;
}>;

/** The module moves/moves.ts. */
export type MovesModule = Readonly<{ startMoves: (host: ChartHost) => Moves }>;

export type Moves = Readonly<{
  /** The row of controls, and what they opened; nothing without the attribute `tools`. */
  tools: () => TemplateResult | typeof nothing;
  /** Leads from a range without data to the newest. */
  newest: () => TemplateResult | typeof nothing;
  /** Asks for the lines to compare with; then puts them on the time axis of the chart's own. */
  compared: (session: Session, request: ChartRequest, signal: AbortSignal) => Promise<(own: readonly Series[]) => readonly Series[]>;
  cursorMoved: (timeMs: number | null) => void;
  stop: () => void;
}>;
