/** The look of forms and tables, for the widgets that have them; apart, so that bio-core.js does not carry it. */
export const fieldCss = `
input, select, textarea { font: inherit; color: inherit; }
button.primary { background: var(--_accent); border-color: var(--_accent); color: var(--_on-accent); font-weight: 600; }
form { margin-block-end: 10px; }
input:not([type=radio], [type=checkbox], [type=range]), select, textarea { inline-size: 100%; min-block-size: 40px; padding: 8px 10px; border: 1px solid var(--_edge);
  border-radius: 8px; background: var(--_surface); }
textarea { min-block-size: 96px; resize: vertical; }
table { border-collapse: collapse; inline-size: 100%; font-size: .875rem; }
th, td { text-align: start; padding: 6px 8px; line-height: 20px; border-block-end: 1px solid var(--_line); }
td.num, th.num { text-align: end; }
.scroll { overflow: auto; max-block-size: 331px; } /* ten rows */
@media print {
  .scroll { max-block-size: none; overflow: visible; }
  form, .readout { display: none !important; }
}
@media (forced-colors: active) { button.primary { forced-color-adjust: none; background: Highlight; color: HighlightText; } }
`;
