/** The sentences that all widgets share, in the languages that ship. A missing language falls back to English, never to a key. */

const en = {
  good: 'Good',
  suspect: 'Suspect',
  bad: 'Unusable',
  loading: 'Loading',
  empty: 'No data in this period',
  stale: 'Last data {age}; shown values may be out of date',
  offline: 'No connection. Showing what was last received',
  offlineEmpty: 'No connection. Nothing has been received yet',
  error: 'This could not be loaded',
  unauthorized: 'Your session has ended. Please sign in again',
  noProvider: 'Waiting for the page to connect',
  retry: 'Try again',
  reference: 'Reference {id}',
  noValue: 'No usable value',
  live: 'Live',
  connecting: 'Connecting',
  signalLost: 'No signal',
  notConnected: 'Not connected',
  refused: 'Access refused',
  delay: 'delay {time}',
  details: 'Details',
  source: 'Source',
  method: 'Method',
  measured: 'Measured',
  quality: 'Quality',
  time: 'Time',
  value: 'Value',
  minimum: 'Min',
  maximum: 'Max',
  mean: 'Mean',
  period: 'Period',
  readHint: 'Point at the chart, or use the arrow keys, to read values',
  showTable: 'Show as table',
  showChart: 'Show as chart',
  chartLabel: '{name}, {range}. {summary}',
  summary: 'Latest {latest}, minimum {min}, maximum {max}',
  goodShare: '{percent} of values are good',
  referenceName: 'Reference',
  traceLabel: 'Live trace, {name}',
  heartRate: 'Heart rate',
  progress: '{value} of {goal}',
  progressLabel: 'Progress',
  metrics: 'Health metrics',
  steps: 'Steps',
  sleep: 'Sleep',
  stress: 'Stress',
  hoursMinutes: '{hours} h {minutes} min',
} as const;

export type Texts<Key extends string> = Readonly<Record<string, Readonly<Record<Key, string>>>>;
export type TextKey = keyof typeof en;

const de: Record<TextKey, string> = {
  good: 'Gut',
  suspect: 'Fraglich',
  bad: 'Unbrauchbar',
  loading: 'Wird geladen',
  empty: 'Keine Daten in diesem Zeitraum',
  stale: 'Letzte Daten {age}; die Werte können veraltet sein',
  offline: 'Keine Verbindung. Gezeigt wird der letzte Stand',
  offlineEmpty: 'Keine Verbindung. Bisher wurde nichts empfangen',
  error: 'Das konnte nicht geladen werden',
  unauthorized: 'Ihre Sitzung ist beendet. Bitte melden Sie sich neu an',
  noProvider: 'Verbindung der Seite wird erwartet',
  retry: 'Erneut versuchen',
  reference: 'Kennung {id}',
  noValue: 'Kein brauchbarer Wert',
  live: 'Live',
  connecting: 'Verbindet',
  signalLost: 'Kein Signal',
  notConnected: 'Nicht verbunden',
  refused: 'Zugriff verweigert',
  delay: '{time} Verzögerung',
  details: 'Einzelheiten',
  source: 'Quelle',
  method: 'Verfahren',
  measured: 'Gemessen',
  quality: 'Güte',
  time: 'Zeit',
  value: 'Wert',
  minimum: 'Min.',
  maximum: 'Max.',
  mean: 'Mittel',
  period: 'Zeitraum',
  readHint: 'Zum Ablesen auf das Diagramm zeigen oder die Pfeiltasten benutzen',
  showTable: 'Als Tabelle zeigen',
  showChart: 'Als Diagramm zeigen',
  chartLabel: '{name}, {range}. {summary}',
  summary: 'Zuletzt {latest}, Minimum {min}, Maximum {max}',
  goodShare: '{percent} der Werte sind gut',
  referenceName: 'Referenz',
  traceLabel: 'Live-Kurve, {name}',
  heartRate: 'Herzfrequenz',
  progress: '{value} von {goal}',
  progressLabel: 'Fortschritt',
  metrics: 'Gesundheitswerte',
  steps: 'Schritte',
  sleep: 'Schlaf',
  stress: 'Stress',
  hoursMinutes: '{hours} Std. {minutes} Min.',
};

const zh: Record<TextKey, string> = {
  good: '良好',
  suspect: '可疑',
  bad: '不可用',
  loading: '正在加载',
  empty: '此时段没有数据',
  stale: '最近数据:{age};所示数值可能已过时',
  offline: '没有连接。显示的是最近收到的数据',
  offlineEmpty: '没有连接。尚未收到任何数据',
  error: '无法加载',
  unauthorized: '会话已结束,请重新登录',
  noProvider: '正在等待页面连接',
  retry: '重试',
  reference: '编号 {id}',
  noValue: '没有可用数值',
  live: '实时',
  connecting: '正在连接',
  signalLost: '无信号',
  notConnected: '未连接',
  refused: '访问被拒绝',
  delay: '延迟 {time}',
  details: '详情',
  source: '来源',
  method: '方法',
  measured: '测量时间',
  quality: '质量',
  time: '时间',
  value: '数值',
  minimum: '最小',
  maximum: '最大',
  mean: '平均',
  period: '时段',
  readHint: '指向图表或使用方向键查看数值',
  showTable: '以表格显示',
  showChart: '以图表显示',
  chartLabel: '{name},{range}。{summary}',
  summary: '最新 {latest},最小 {min},最大 {max}',
  goodShare: '{percent} 的数值质量良好',
  referenceName: '参考范围',
  traceLabel: '实时波形,{name}',
  heartRate: '心率',
  progress: '{value} / {goal}',
  progressLabel: '进度',
  metrics: '健康指标',
  steps: '步数',
  sleep: '睡眠',
  stress: '压力',
  hoursMinutes: '{hours} 小时 {minutes} 分钟',
};

export const sharedTexts: Texts<TextKey> = { en, de, zh };

/** A BCP 47 tag that Intl accepts, from an attribute, the page or the browser. */
export function localeOf(wanted: string | null): string {
  for (const tag of [wanted, globalThis.document?.documentElement.lang, globalThis.navigator?.language]) {
    if (tag === null || tag === undefined || tag === '') continue;
    try {
      return Intl.getCanonicalLocales(tag)[0] ?? 'en';
    } catch {
      continue; // an invalid tag in the page must not break the widget
    }
  }
  return 'en';
}

/** @param values replace `{name}` in the sentence */
export function sentenceOf<Key extends string>(
  texts: Texts<Key>,
  locale: string,
  key: Key,
  values: Readonly<Record<string, string | number>> = {},
): string {
  const sentence = (texts[locale.split('-')[0]!.toLowerCase()] ?? texts['en']!)[key];
  // What is written from right to left stands apart in a sentence that is not.
  return sentence.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? '').replace(/^.*[\u0590-\u08ff].*$/, '\u2068$&\u2069'));
}

export function textFor(locale: string, key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return sentenceOf(sharedTexts, locale, key, values);
}
