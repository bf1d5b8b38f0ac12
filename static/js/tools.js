// What a rater may set about the page, and what a page without JavaScript says in other words.

// Times, on every page that has any: the server writes them in UTC
const FORMATS = {
  clock: { timeStyle: "medium", hourCycle: "h23" },
  short: { dateStyle: "medium", timeStyle: "short" },
  date: { dateStyle: "long" },
  datetime: { dateStyle: "long", timeStyle: "short" },
};
function localize() {
  for (const time of document.querySelectorAll("time[data-local]")) {
    const format = new Intl.DateTimeFormat(document.documentElement.lang, FORMATS[time.dataset.local]);
    time.textContent = format.format(new Date(time.dateTime));
  }
}

// Texts say `translate="no"`; a page that was translated all the same, or around them, is noted with each choice
const { documentElement: root } = document;
const writtenIn = root.lang;
const isTranslated = () => root.lang !== writtenIn || root.matches(".translated-ltr, .translated-rtl");

const byId = (id) => document.getElementById(id);
const words = byId("words")?.dataset;
let hit; // the HIT in view; on other pages there are only times
let steered; // another script marks the pair that the rater is at: without it the tools would do nothing, or hide every pair

export function remember(name, value, storage = "localStorage") {
  try {
    window[storage].setItem(`tandem.${name}`, value);
  } catch {
    // Then it is forgotten.
  }
}

export function remembered(name, storage = "localStorage") {
  try {
    return window[storage].getItem(`tandem.${name}`);
  } catch {
    return null;
  }
}

// Differences

const MOST_CELLS = 4e6; // of the table below; longer texts are compared as sets of words
let segmenter = null; // for the language of the texts

function wordsOf(node) {
  if (segmenter) return [...segmenter.segment(node.data)].filter((part) => part.isWordLike);
  return [...node.data.matchAll(/[\p{L}\p{N}]+/gu)].map((found) => ({ segment: found[0], index: found.index }));
}

function tokens(element) {
  if (element.querySelector(".no-text")) return []; // these words are ours, not the text's
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("math")) continue; // a formula holds no marks
    for (const { segment, index } of wordsOf(node)) {
      found.push({ word: segment.toLowerCase(), node, start: index, end: index + segment.length, common: false });
    }
  }
  return found;
}

/** Mark the words of a longest common subsequence as common. */
function compare(left, right) {
  const same = (i, j) => left[i].word === right[j].word;
  const pair = (i, j) => (left[i].common = right[j].common = true);
  let from = 0;
  let [n, m] = [left.length, right.length];
  while (from < n && from < m && same(from, from)) pair(from, from++);
  while (n > from && m > from && same(n - 1, m - 1)) pair(--n, --m);
  const [rows, width] = [n - from, m - from + 1];
  if (rows * width > MOST_CELLS) return compareSets(left, right);
  const longest = new Uint16Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = width - 2; j >= 0; j--) {
      longest[i * width + j] = same(from + i, from + j)
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < rows && j < width - 1; ) {
    if (same(from + i, from + j)) pair(from + i++, from + j++);
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i++;
    else j++;
  }
}

function compareSets(left, right) {
  for (const [these, those] of [[left, right], [right, left]]) {
    const known = new Set(those.map((token) => token.word));
    for (const token of these) token.common = known.has(token.word);
  }
}

function wrap(found, name) {
  const runs = [];
  found.forEach((token, place) => {
    if (token.common) return;
    const last = runs.at(-1);
    if (last && last.node === token.node && last.place === place - 1) Object.assign(last, { end: token.end, place });
    else runs.push({ node: token.node, start: token.start, end: token.end, place });
  });
  for (const { node, start, end } of runs.reverse()) {
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, end);
    const mark = document.createElement("mark");
    mark.className = name;
    range.surroundContents(mark);
  }
}

function showDifferences(on) {
  for (const mark of document.querySelectorAll(".sides mark")) {
    const parent = mark.parentNode;
    mark.replaceWith(...mark.childNodes);
    parent.normalize();
  }
  if (!on) return;
  for (const sides of document.querySelectorAll(".sides")) {
    const [left, right] = [...sides.querySelectorAll(".text")].map(tokens);
    compare(left, right);
    wrap(left, "only-left");
    wrap(right, "only-right");
  }
}

// The tools

// And whether they are on unless the rater says otherwise
const isSmall = () => (matchMedia("(max-width: 700px)").matches ? "1" : "0");
const SWITCHES = {
  "tool-differences": () => "0",
  "tool-keys": () => "1",
  "tool-advance": () => hit.advance,
  "tool-one": isSmall,
};
const nameOf = (tool) => tool.id.replace("tool-", "");

/** Show the page as the tools say. By classes: `:has` would restyle it at each change. */
function setLook() {
  const look = document.documentElement.classList;
  const several = document.querySelectorAll("[data-card]").length !== 1; // none in the second stage
  for (const id of ["tool-one", "tool-advance"]) byId(id)?.closest("label").toggleAttribute("hidden", !several);
  const one = byId("tool-one").checked; // its texts scroll in boxes, so that its choices stay on the screen
  look.add("with-tools");
  look.toggle("with-keys", byId("tool-keys").checked);
  look.toggle("one-pair", one);
  for (const size of ["small", "large"]) look.toggle(`text-${size}`, byId("tool-size").value === size);
  for (const side of document.querySelectorAll(".side")) {
    if (one) side.tabIndex = 0; // a box that scrolls can be reached by keys
    else side.removeAttribute("tabindex");
  }
  dispatchEvent(new Event("resize"));
}

function setUpTools() {
  for (const [id, usual] of Object.entries(SWITCHES)) {
    const tool = byId(id); // the second stage has no choice that leads on
    if (tool) tool.checked = (remembered(nameOf(tool)) ?? usual()) === "1";
  }
  byId("tool-size").value = remembered("size") ?? "";
  byId("tools").hidden = false;
}

document.addEventListener("change", ({ target }) => {
  if (!target.id.startsWith("tool-")) return;
  remember(nameOf(target), target.id in SWITCHES ? (target.checked ? "1" : "0") : target.value);
  setLook();
  if (target.id === "tool-differences") showDifferences(target.checked);
});

// Beside the pairs, on a narrow screen in a bar above them: the source of this HIT, and how to rate, which stays open

function setUpBeside() {
  const wide = !matchMedia("(max-width: 900px)").matches;
  const source = document.querySelector(".source");
  source.addEventListener("toggle", noteSource);
  const guidelines = byId("guidelines");
  if (guidelines) keepOpen(guidelines, "guidelines", false);
  keepOpen(source, `source.${hit.assignment}`, wide, "sessionStorage");
  noteSource();
}

const openedName = () => `opened.${hit.assignment}`;

/** Keep in mind that the source was open, which goes along with each choice. */
function noteSource() {
  if (document.querySelector(".source").open) remember(openedName(), "true", "sessionStorage");
}
document.addEventListener("noted", ({ detail }) => {
  detail.source_opened = remembered(openedName(), "sessionStorage") ?? "false";
  detail.translated = isTranslated();
});

/** Open or close a part as it was left. */
function keepOpen(part, name, usual, storage) {
  part.open = (remembered(name, storage) ?? (usual ? "1" : "0")) === "1";
  part.addEventListener("toggle", () => remember(name, part.open ? "1" : "0", storage));
}

// Times

function tellTimes() {
  localize();
  hideWhatHasGone();
  for (const timer of document.querySelectorAll("[data-expires]")) {
    timer.came ??= Date.now(); // the server's clock is the one that counts
    const left = Date.parse(timer.dataset.expires) - Date.parse(timer.dataset.now) - (Date.now() - timer.came);
    const text = left > 0 ? words.minutes.replace("{}", Math.ceil(left / 60000)) : words.timeUp;
    if (timer.textContent !== text) timer.textContent = text;
  }
}

function hideWhatHasGone() {
  for (const link of document.querySelectorAll("[data-gone]")) {
    link.came ??= Date.now();
    link.hidden = Date.now() - link.came > 1000 * link.dataset.gone;
  }
}

// A response replaces the button in focus: move the focus to the response, not to the top of the page
document.addEventListener("htmx:afterSettle", ({ target, detail: { requestConfig, xhr } }) => {
  const isReport = requestConfig?.elt.matches(".report form");
  if (isReport || (target.id === "stage" && xhr?.status >= 400)) target.querySelector(".reported, .saved > .error")?.focus();
});

// New parts of the page

function dress() {
  tellTimes();
  if (!steered || !byId("hit")) return; // what comes after the last HIT has no tools
  if (byId("tool-differences").checked) showDifferences(true);
  setLook();
}

/** Take up the HIT that has come. */
function begin() {
  hit = byId("hit")?.dataset;
  steered = false;
  if (hit) {
    steered = document.querySelector(".card.current") || !document.querySelector("[data-card]");
    segmenter = window.Intl?.Segmenter && new Intl.Segmenter(hit.language || undefined, { granularity: "word" });
    if (steered) setUpTools();
    setUpBeside();
  }
  dress();
}

begin();
setInterval(tellTimes, 5000);
document.addEventListener("htmx:load", ({ target }) => target.id === "main" && begin());
document.addEventListener("htmx:afterSwap", dress);
