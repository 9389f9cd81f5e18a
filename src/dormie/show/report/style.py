"""How the page looks, and what its script does. Nothing is loaded from anywhere."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1c2330; --soft: #5b6575; --line: #d9dee6; --card: #f5f7fa;
  --front: #2a6fb0; --behind: #b9c6d6; --track: #e9edf2; }
@media (prefers-color-scheme: dark) { :root { --page: #14181f; --ink: #e8ecf2; --soft: #9aa5b5; --line: #333c4a;
  --card: #1d232d; --front: #5aa2e6; --behind: #47586d; --track: #262e3a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 52rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; } p, pre { overflow-wrap: anywhere; }
.soft, .note { color: var(--soft); } .note { font-size: .9rem; } .first { font-weight: 600; }
.bars + p { margin-top: 1rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem; margin: 1.2rem 0; }
.tiles div { background: var(--card); border-radius: .5rem; padding: .7rem .8rem; font-size: .87rem;
  color: var(--soft); }
.tiles b { display: block; font-size: 1.5rem; line-height: 1.3; color: var(--ink); }
.bar { margin: .55rem 0; } .bar:focus { outline: 2px solid var(--front); outline-offset: 3px; }
.bar:hover .front { opacity: .8; }
.words { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; font-size: .92rem; }
.words span + span { color: var(--soft); font-variant-numeric: tabular-nums; }
.track { fill: var(--track); } .behind { fill: var(--behind); } .front { fill: var(--front); }
svg { display: block; border-radius: 3px; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .3em 0 0; }
.note span { white-space: nowrap; margin-right: .8em; } .bar .note { margin-top: .15rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); font-size: .92rem; }
th { color: var(--soft); font-weight: 600; }
td img { display: block; width: 56px; height: 56px; object-fit: contain; image-rendering: pixelated; }
input { font: inherit; width: 100%; max-width: 24rem; padding: .35rem .6rem; margin: .3rem 0 .6rem; color: inherit;
  background: var(--card); border: 1px solid var(--line); border-radius: .4rem; }
@media (max-width: 30rem) { th, td { padding-right: .4rem; font-size: .82rem; } td img { width: 44px; height: 44px; } }
details { margin-top: 2rem; } summary { cursor: pointer; }
pre { white-space: pre-wrap; background: var(--card); padding: .8rem; border-radius: .5rem; font-size: .8rem; }
#tip { position: fixed; pointer-events: none; background: var(--ink); color: var(--page); padding: .3rem .6rem;
  border-radius: .35rem; font-size: .85rem; max-width: 18rem; }
"""

SCRIPT = """
const tip = document.getElementById("tip");
function show(bar, x, y) {
  tip.textContent = bar.dataset.tip;
  tip.hidden = false;
  tip.style.left = Math.max(8, Math.min(x + 12, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = Math.max(8, y - tip.offsetHeight - 10) + "px";
}
for (const bar of document.querySelectorAll("[data-tip]")) {
  bar.addEventListener("pointermove", event => show(bar, event.clientX, event.clientY));
  bar.addEventListener("pointerleave", () => { tip.hidden = true; });
  bar.addEventListener("focus", () => { const at = bar.getBoundingClientRect(); show(bar, at.left, at.top); });
  bar.addEventListener("blur", () => { tip.hidden = true; });
}
const wanted = document.getElementById("wanted"), count = document.getElementById("count");
const lines = [...document.querySelectorAll("tbody tr")];
function has(cell, word) { /* a number is looked for as a whole */
  return isNaN(word) ? cell.includes(word) : cell.split(/,?\\s+/).includes(word);
}
function filter() {
  const words = wanted.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  for (const line of lines) {
    const text = [...line.cells].map(cell => cell.textContent.toLowerCase());
    line.hidden = !words.every(word => text.some(cell => has(cell, word)));
    shown += line.hidden ? 0 : 1;
  }
  count.textContent = shown === lines.length ? "" : shown + " of " + lines.length + " rows";
}
wanted.hidden = false;
wanted.addEventListener("input", filter);
"""
