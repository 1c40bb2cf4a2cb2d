//! The page's looks, inline so that the page is one file and loads nothing.

/// Colours are Okabe and Ito's, told apart by every kind of colour vision; every colour is
/// accompanied by a word, a sign or a shape.
pub(crate) const CSS: &str = r"
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1b1f24; --soft: #59636e; --line: #d8dee4; --panel: #f6f8fa;
  --costs: #d55e00; --saves: #009e73; --negligible: #0072b2; --inconclusive: #e69f00;
  --control: #59636e; --interest: rgba(0, 114, 178, .12);
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --ink: #e6e9ec; --soft: #9aa4ae; --line: #333b44; --panel: #1c2229;
    --costs: #f07f2e; --saves: #1fbf92; --negligible: #56b4e9; --inconclusive: #f0b429;
    --control: #9aa4ae; --interest: rgba(86, 180, 233, .18);
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem;
  background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif;
}
h1 { margin: 0; font-size: 1.7rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2.2rem 0 .6rem; font-size: 1.15rem; }
p { margin: .4rem 0; }
code { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; font-size: .92em; overflow-wrap: anywhere; }
.about { color: var(--soft); }
.answer {
  margin: 1rem 0; padding: .9rem 1.1rem; font-size: 1.08rem; border-left: 4px solid var(--negligible);
  background: var(--panel); overflow-wrap: anywhere;
}
.answer.suspect { border-color: var(--inconclusive); }
.answer.void { border-color: var(--costs); }
dl { display: grid; grid-template-columns: minmax(5.5rem, max-content) 1fr; gap: .15rem 1rem; margin: .6rem 0; font-size: .92rem; }
dt { color: var(--soft); overflow-wrap: anywhere; }
dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 0 0 1.2rem; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .9rem .35rem 0; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: .2rem; }
thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; }
thead th:first-child { color: var(--ink); font-weight: 600; }
thead th[title] { text-decoration: underline dotted var(--soft); text-underline-offset: .2em; cursor: help; }
tbody th { font-weight: 400; white-space: normal; overflow-wrap: anywhere; }
thead th:first-child { min-width: min(18rem, 40vw); }
tbody th, thead th:first-child { max-width: 18rem; }
.right { padding-left: .6rem; }
.right { text-align: right; }
.faint { color: var(--soft); }
.alarm { font-weight: 600; }
.verdict::before { content: ''; display: inline-block; width: .6em; height: .6em; margin-right: .45em; border-radius: 50%; background: currentColor; }
.costs::before, .alarm::before { color: var(--costs); }
.saves::before { color: var(--saves); }
.negligible::before { color: var(--negligible); }
.inconclusive::before { color: var(--inconclusive); }
.note { font-size: .85rem; color: var(--soft); }
.doubt { margin: .8rem 0; padding-left: .9rem; border-left: 3px solid var(--inconclusive); overflow-wrap: anywhere; }
.doubt.void { border-color: var(--costs); }
details { margin: 1rem 0; }
summary { cursor: pointer; color: var(--soft); }
figure { margin: 1.4rem 0; }
figcaption { font-weight: 600; margin-bottom: .5rem; }
svg.forest { display: block; width: 100%; overflow: visible; font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }
.forest text { fill: var(--ink); stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; paint-order: stroke; }
.forest .soft { fill: var(--soft); font-size: 12px; }
.forest .narrow { display: none; }
.forest .grid { stroke: var(--line); }
.forest .zero { stroke: var(--soft); stroke-width: 1.5; }
.forest .interest { fill: var(--interest); }
.forest .interval { stroke-width: 3; stroke-linecap: round; }
.forest .point { stroke-width: 2.5; }
.forest .costs { stroke: var(--costs); fill: var(--costs); }
.forest .saves { stroke: var(--saves); fill: var(--saves); }
.forest .negligible { stroke: var(--negligible); fill: var(--negligible); }
.forest .inconclusive { stroke: var(--inconclusive); fill: var(--paper); }
.forest .control { stroke: var(--control); fill: var(--control); }
@media (max-width: 34rem) {
  body { padding: 1rem .8rem 2rem; font-size: 15px; }
  table { font-size: .76rem; }
  th, td { padding-right: .4rem; white-space: normal; }
  td:not(.right) { white-space: nowrap; }
  .right { padding-left: .1rem; }
  .verdict::before { margin-right: .3em; }
  thead th:first-child { min-width: 4rem; }
  .forest .wide { display: none; }
  .forest .narrow { display: inline; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .4rem; }
}
@media print {
  @page { size: A4; margin: 14mm; }
  :root {
    --paper: #fff; --ink: #000; --soft: #444; --line: #ccc; --panel: #f6f8fa;
    --costs: #d55e00; --saves: #009e73; --negligible: #0072b2; --inconclusive: #e69f00;
    --control: #444; --interest: rgba(0, 114, 178, .12);
  }
  body { max-width: none; padding: 0; font-size: 10.5pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, tr, .doubt { break-inside: avoid; }
  h2 { break-after: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 9pt; }
}
";

/// What pictures of curves need besides; only on pages that have one.
pub(crate) const CURVES: &str = r"
.curve .ribbon { fill: var(--interest); }
.curve .fitted { fill: none; stroke: var(--negligible); stroke-width: 2; vector-effect: non-scaling-stroke; }
.curve .measured { stroke: var(--ink); fill: var(--ink); }
.curve .beyond { stroke: var(--control); fill: var(--paper); }
";

/// What pages on several loads need besides.
pub(crate) const REGIMES: &str = r"
.regime { margin-top: 3rem; border-top: 1px solid var(--line); }
.regime h3 { margin: 2.2rem 0 .6rem; font-size: 1.05rem; }
";

/// What flame graphs need besides: not so small that nothing can be read.
pub(crate) const FLAMES: &str = r"
.flames .scroll > div { min-width: 44rem; }
@media print { .flames .scroll > div { min-width: 0; } }
";
