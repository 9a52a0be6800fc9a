/** The look that all widgets share: one set of tokens, light and dark by `color-scheme`, system colours where the user forces them.
 *  A page sets the public `--bio-*` properties; inside, widgets use the private `--_*` ones. */

const themeCss = `
:host {
  --_ink: var(--bio-color-text, light-dark(#14191f, #e7edf3));
  --_muted: var(--bio-color-muted, light-dark(#54606e, #9dabba));
  --_surface: var(--bio-color-surface, light-dark(#ffffff, #12181f));
  --_sunken: var(--bio-color-sunken, light-dark(#f3f5f7, #0b1015));
  --_line: var(--bio-color-border, light-dark(#d9dfe5, #2a343f));
  --_edge: light-dark(#75808c, #74828f);
  --_accent: var(--bio-color-accent, light-dark(#0a5fb4, #6db5ff));
  --_on-accent: light-dark(#ffffff, #06121f);
  --_good: var(--bio-color-good, light-dark(#176f43, #5bd197));
  --_suspect: var(--bio-color-suspect, light-dark(#8a5600, #f0b449));
  --_bad: var(--bio-color-bad, light-dark(#b3261e, #ff9186));
  --_trace: var(--bio-color-trace, light-dark(#10243a, #46e08c));
  --_radius: var(--bio-radius, 10px);
  --_space: var(--bio-space, 16px);
  color-scheme: inherit;
  display: block;
  color: var(--_ink);
  font: 400 1rem/1.45 var(--bio-font, system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif);
  font-variant-numeric: tabular-nums;
  container-type: inline-size;
}
:host([theme=light]) { color-scheme: light; }
:host([theme=dark]) { color-scheme: dark; }
:host([hidden]) { display: none; }
@media (forced-colors: active) {
  :host {
    --_ink: CanvasText; --_muted: CanvasText; --_surface: Canvas; --_sunken: Canvas; --_line: GrayText; --_edge: CanvasText;
    --_accent: LinkText; --_on-accent: Canvas; --_good: CanvasText; --_suspect: CanvasText; --_bad: CanvasText;
    --_trace: CanvasText;
  }
}
*, ::before, ::after { box-sizing: border-box; }
h2, h3, p, ul, ol, dl, dd, figure, fieldset { margin: 0; padding: 0; border: 0; min-inline-size: 0; }
ul, ol { list-style: none; }
h2, h3, p, li, dt, dd, legend, time, .value, .unit, .muted { unicode-bidi: plaintext; text-align: match-parent; text-align: -webkit-match-parent; }
.card { background: var(--_surface); border: 1px solid var(--_line); border-radius: var(--_radius); padding: var(--_space); }
.title { font-size: 1rem; font-weight: 600; line-height: 1.3; overflow-wrap: anywhere; }
.muted { color: var(--_muted); font-size: .875rem; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 4px 12px; margin-block-end: 10px; }
.stack { display: grid; gap: 12px; }
.row { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.value { font-size: 1.75rem; font-weight: 650; line-height: 1.1; letter-spacing: -.01em; }
.unit { font-size: .875rem; color: var(--_muted); font-weight: 400; margin-inline-start: .25em; }
.q { display: inline-flex; align-items: center; gap: .35em; font-size: .8125rem; white-space: nowrap; }
.q svg { inline-size: .8em; block-size: .8em; flex: none; }
.q0 { color: var(--_good); } .q1 { color: var(--_suspect); } .q2 { color: var(--_bad); }
.vh { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.note { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; padding: 8px 12px; border-radius: 8px; background: var(--_sunken);
  border-inline-start: 4px solid var(--_muted); font-size: .875rem; margin-block-end: 10px; }
.note.warn { border-color: var(--_suspect); } .note.err { border-color: var(--_bad); }
button { font: inherit; color: inherit; }
button { min-block-size: 40px; min-inline-size: 40px; padding: 6px 14px; border: 1px solid var(--_edge); border-radius: 8px; background: var(--_surface);
  color: var(--_ink); cursor: pointer; }
button.quiet { border-color: transparent; background: none; color: var(--_accent); padding-inline: 6px; }
button:disabled { opacity: .55; cursor: default; }
:focus-visible { outline: 3px solid var(--_accent); outline-offset: 2px; }
.skeleton { background: var(--_sunken); border-radius: 6px; min-block-size: 1.2em; animation: bio-pulse 1.6s ease-in-out infinite alternate; }
@keyframes bio-pulse { to { opacity: .45; } }
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; scroll-behavior: auto !important; } }
@media print {
  :host, :host([theme]) { color-scheme: light !important; }
  button { display: none !important; }
  tr, li, .card > * { break-inside: avoid; }
}
`;

/** The paper of an ECG, for those that draw one; apart, so that bio-core.js does not carry it. */
export const gridCss = `
:host { --_grid-minor: light-dark(#f8e3e1, #16222a); --_grid-major: light-dark(#efc4c0, #21333d); }
@media (forced-colors: active) { :host { --_grid-minor: Canvas; --_grid-major: GrayText; } }
`;

const sheets = new Map<string, CSSStyleSheet>();

/** Constructed style sheets: shared between instances, and allowed where a CSP forbids inline styles. */
export function styleSheet(css: string): CSSStyleSheet {
  let sheet = sheets.get(css);
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    sheets.set(css, sheet);
  }
  return sheet;
}

export function themeSheet(): CSSStyleSheet {
  return styleSheet(themeCss);
}

/** The colour that a token has here and now, for canvases. Resolves light-dark() and system colours, which getPropertyValue does not. */
export function tokenColor(root: ShadowRoot, token: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${token})`;
  probe.style.display = 'none';
  root.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}
