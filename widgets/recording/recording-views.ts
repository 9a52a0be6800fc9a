/** Draws what is here of the views of a recording; asks for the rest, and says what could not be read. */
import { unitLabel } from '../shared/format.ts';
import { tokenColor } from '../shared/theme.ts';
import { correctBeats } from './corrected-beats.ts';
import type { OpenRecording, View } from './open-recording.ts';
import { drawRows, drawStrip, drawWhole, surfaceOf } from './recording-draw.ts';
import type { Colors, Surface, Tick } from './recording-draw.ts';
import { filtered } from './recording-filter.ts';
import { USUAL_GAIN } from './recording-gains.ts';
import type { Gains } from './recording-gains.ts';
import type { RecordingOverview } from './recording-overview.ts';
import { pageMs } from './recording-pages.ts';
import type { Page } from './recording-pages.ts';
import type { Beat, Quality, RecordingSource, Segment } from './recording-source.ts';
import type { RecordingSettings } from './recording-settings.ts';
import type { RecordingWords } from './recording-words.ts';
import type { StripSelection } from './strip-selection.ts';
import { tilesOf } from './strip-tiles.ts';
import type { Absent } from './strip-tiles.ts';

type Span = readonly [fromMs: number, toMs: number];

type Shown = Readonly<{
  recording: OpenRecording;
  words: RecordingWords;
  /** Stands where something is still read. */
  loading: string;
  settings: RecordingSettings;
  page: Page;
  /** null: it is no recording of days. */
  day: Span | null;
  strip: Span;
  selection: StripSelection;
}>;

/** What is on the strip. */
export type StripContents = Readonly<{ segments: readonly Segment[]; beats: readonly Beat[]; isWaiting: boolean }>;

/** @returns null: the strip was not drawn */
export function drawViews(root: ShadowRoot, views: ReadonlySet<View>, shown: Shown): StripContents | null {
  const colors = colorsOf(root);
  const qualities = shown.recording.pages.qualities(shown.page, shown.settings.channels[0]!);
  if (views.has('wholes')) drawWholes(root, colors, shown);
  if (views.has('page')) drawPage(root, colors, shown, qualities);
  return views.has('strip') ? drawContents(root, colors, shown, qualities) : null;
}

function colorsOf(root: ShadowRoot): Colors {
  const of = (token: string): string => tokenColor(root, token);
  return {
    ink: of('--_ink'),
    muted: of('--_muted'),
    surface: of('--_surface'),
    minor: of('--_grid-minor'),
    major: of('--_grid-major'),
    trace: of('--_trace'),
    accent: of('--_accent'),
    suspect: of('--_suspect'),
    bad: of('--_bad'),
    line: of('--_line'),
  };
}

/** @param property of its style, on which its size depends */
function surfaceIn(root: ShadowRoot, name: string, colors: Colors, property = '', value = 0): Surface | null {
  const canvas = root.querySelector<HTMLCanvasElement>(`canvas.${name}`);
  canvas?.style.setProperty(property, String(value));
  return canvas === null ? null : surfaceOf(canvas, colors);
}

/** The whole recording, and a day of one of days. */
function drawWholes(root: ShadowRoot, colors: Colors, { recording, words, settings, page, day, strip }: Shown): void {
  const { source, overviews, marks } = recording;
  const draw = (name: string, overview: RecordingOverview, [startMs, endMs]: Span, frame: Span): void => {
    const surface = surfaceIn(root, name, colors);
    if (surface === null) return;
    const { envelope, quality, rate, isUnread } = overview;
    const unread = isUnread ? words.say('notRead') : '';
    const ticks = (fromMs: number, toMs: number, width: number): Tick[] => words.ticks(fromMs, toMs, width);
    drawWhole(surface, { unread, startMs, endMs, envelope, quality, rate, marks, page: frame, strip, ticks });
  };
  const frame = [page.fromMs, page.fromMs + pageMs(page)] as const;
  draw('whole', overviews.of(settings.channels[0]!, null), [source.startMs, source.endMs], day ?? frame);
  if (day !== null) draw('day', overviews.of(settings.channels[0]!, day), day, frame);
  recording.lack('wholes', overviews.isLacking);
}

function drawPage(root: ShadowRoot, colors: Colors, shown: Shown, qualities: readonly Quality[]): void {
  const { recording, words, page, strip } = shown;
  const { source, pages, marks } = recording;
  const channel = shown.settings.channels[0]!;
  const surface = surfaceIn(root, 'rows', colors, '--_rows', page.count);
  if (surface === null) return;
  const envelopes = pages.envelopes(page, channel);
  const absent = pages.absent(page, channel);
  recording.lack('rows', hasFailed(absent));
  recording.lack('page', pages.isUnread(page, channel));
  drawRows(surface, {
    ...page,
    envelopes,
    absent: absentWords(absent, shown),
    marks,
    strip,
    qualities,
    time: (ms) => words.clock(ms, false),
    date: (ms) => words.date(ms),
    name: source.names.get(channel) ?? channel,
  });
  pages.prefetch(channel);
}

function drawContents(root: ShadowRoot, colors: Colors, shown: Shown, qualities: readonly Quality[]): StripContents | null {
  const { recording, words, settings, strip, selection } = shown;
  const { channels, gains } = settings;
  const { source, marks } = recording;
  const paper = surfaceIn(root, 'strip', colors, '--_lanes', channels.length);
  if (paper === null) return null;
  if (!matchMedia('print').matches) root.querySelector<HTMLElement>('.strip')!.style.setProperty('--_wide', `${paper.width}px`);
  const lanes = channels.map((code) => source.channelOf(code)!);
  const found = tilesOf(source, strip, 1000 / Math.min(...lanes.map(({ rate_hz: rateHz }) => rateHz)));
  recording.lack('strip', hasFailed(found.absent));
  const segments = found.tiles.flatMap((tile) => tile.segments).map((one) => (settings.isFiltered ? filtered(one) : one));
  const beats = found.tiles.flatMap((tile) => tile.beats);
  drawStrip(paper, {
    fromMs: strip[0],
    speed: settings.speed,
    gain: gains.all,
    lanes: lanes.map(({ code, kind }) => ({
      channel: code,
      kind,
      label: laneName(source, gains, code),
      gain: gains.of(code),
      zoom: gains.of(code) / USUAL_GAIN,
      isChosen: code === settings.signal,
      segments: segments.filter(({ channel }) => channel === code),
    })),
    beats,
    corrected: marks.some(({ beat }) => beat !== null) ? correctBeats(beats, marks, strip) : null,
    pick: selection.pick,
    hasMiddle: selection.mode !== 'off' || selection.isMeasuring,
    words: { computed: words.say('rowComputed'), corrected: words.say('rowCorrected') },
    marks,
    calipers: selection.calipers,
    qualities,
    absent: absentWords(found.absent, shown),
    gap: words.say('gap'),
  });
  return { segments, beats, isWaiting: found.absent.some(({ why }) => why === 'loading') };
}

const hasFailed = (absent: readonly Absent[]): boolean => absent.some(({ why }) => why === 'failed');

/** Where a part of it is not here: why. */
const absentWords = (absent: readonly Absent[], { loading, words }: Shown) =>
  absent.map(({ fromMs, toMs, why }) => ({ fromMs, toMs, word: why === 'loading' ? loading : words.say('notRead') }));

/** The signal, its unit, and its gain where it has one of its own. */
export function laneName(source: RecordingSource, gains: Gains, code: string): string {
  const unit = source.channelOf(code)?.unit ?? '';
  return [source.names.get(code) ?? code, unitLabel(unit), gains.own(code)].filter((word) => word !== '').join(' · ');
}
