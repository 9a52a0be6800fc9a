/** The style of the viewer of a recording. */
import { gridCss } from '../shared/theme.ts';

export const recordingCss = `${gridCss}
input, select { font: inherit; color: inherit; }
input:not([type=checkbox], [type=range]), select { inline-size: 100%; min-block-size: 40px; padding: 8px 10px; border: 1px solid var(--_edge); border-radius: 8px;
  background: var(--_surface); }
.bar { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: end; margin-block-end: 8px; font-size: .875rem; }
.bar label { display: grid; gap: 2px; }
.bar select { min-inline-size: 5.5em; inline-size: auto; }
.bar .check { display: flex; gap: 6px; align-items: center; min-block-size: 40px; }
.bar .check input { inline-size: 20px; block-size: 20px; }
.views { display: grid; gap: 8px; direction: ltr; }
canvas { display: block; inline-size: 100%; background: var(--_surface); border: 1px solid var(--_line); border-radius: 6px; touch-action: pan-y; }
.whole { block-size: 150px; cursor: pointer; }
.rows { block-size: calc(clamp(460px, 45vh, 1100px) * var(--_rows, 10) / 10); cursor: pointer; }
.strip { block-size: max(var(--bio-strip-height, 300px), var(--_lanes, 1) * 96px); cursor: grab; scroll-margin-block-end: 2.5em; }
/* Below the rows it would be out of sight, where a click in them shows what it does. */
@media screen and (min-height: 800px) { .strip.stays { position: sticky; inset-block-end: var(--_words, 28px); box-shadow: 0 -4px 12px rgb(0 0 0 / 15%); } }
@media screen and (max-height: 960px) { .day ~ .strip { position: static; box-shadow: none; } }
.reading { min-block-size: 1.5em; font-size: .875rem; display: flex; flex-wrap: wrap; gap: 2px 18px; justify-content: space-between;
  /* In sight with the strip, however low the screen is. */
  position: sticky; inset-block-end: 0; z-index: 1; padding-block: 4px; background: var(--_surface); }
.on-paper { display: none; }
.reading button { min-block-size: 0; padding-block: 0; }
.warn { color: var(--_suspect); font-weight: 600; }
.goto { flex: 1 1 480px; display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.goto label { flex: 1 1 240px; display: flex; gap: 8px; align-items: center; }
.goto input[type=range] { flex: 1; min-block-size: 40px; accent-color: var(--_accent); }
.goto input[type=datetime-local] { inline-size: auto; }
.skeleton { block-size: 300px; }
fieldset.channels { display: flex; flex-wrap: wrap; gap: 2px 14px; }
@media print {
  .on-paper { display: block; margin-block: 4px; font-size: 8.5pt; }
  /* So low that ten rows and the strip of two leads share a sheet of A4 with the head of the page. */
  .rows { block-size: calc(9mm * var(--_rows, 10)); }
  :focus-visible { outline: none; }
  .bar { display: none !important; }
  .reading { position: static; }
  .views { overflow: hidden; }
  /* A millimetre stays one: what is too wide is cut off at both ends, not made narrower. */
  .strip { inline-size: var(--_wide, 100%); margin-inline-start: calc((100% - var(--_wide, 100%)) / 2); }
}
@container (max-width: 500px) { .rows { block-size: calc(36px * var(--_rows, 10)); } .reading, .strip.stays { position: static; box-shadow: none; } }
`;
