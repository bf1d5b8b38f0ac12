// The pair that the rater is at: it is marked, takes the keys, and its time is counted.
import { onHit, placeOf, settled } from "./outbox.js";
import { Reading } from "./reading.js";

const IDLE = 30000; // ms without input after which the rater counts as away
const ASLEEP = 2000; // ms between two ticks of a second after which the machine is thought to have slept
const GAP = 8; // pixels between a bar and the pair below it
const KEPT = 14 * 24 * 3600 * 1000; // ms for which the times of another HIT are kept
const TYPING = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=hidden])";
const byId = (id) => document.getElementById(id);
const words = byId("words").dataset;
let assignment; // key of the HIT in view
const cards = () => [...document.querySelectorAll("[data-card]")];
const formsIn = (card) => [...(card?.querySelectorAll("form[data-pair]") ?? [])]; // one a question, the main one first
const formIn = (card) => formsIn(card)[0];
const radiosIn = (form) => [...form.querySelectorAll("input[name=choice]")];
const chosenIn = (form) => radiosIn(form).find((radio) => radio.checked);
/** What is asked of a pair and still open, from the top: forms without a choice, and a reason that is too short. */
const openIn = (card) => [...card.querySelectorAll("form[data-pair], .short")].filter((one) => !chosenIn(one));
const isDone = (card) => !openIn(card).length;

// The current pair, see reading.js

history.scrollRestoration = "manual"; // a page loaded again arrives as a new one does
const reading = new Reading();
let current = {}; // what it said last
let arriving = false; // until the rater does something
const nameOf = (form) => form.dataset.pair + ("second" in form.dataset ? " 2" : "");
const nameIn = (card) => nameOf(formIn(card));
const isAlone = () => document.documentElement.classList.contains("one-pair"); // the current pair is the only one in view

/** Return what the bars at the window's edges leave free for pairs. */
function readingArea() {
  const pairs = document.querySelector(".pairs").getBoundingClientRect();
  let [top, bottom] = [0, innerHeight];
  for (const bar of document.querySelectorAll(".beside, #outbox, #hit-status")) {
    const box = bar.getBoundingClientRect();
    if (box.right <= pairs.left || box.left >= pairs.right) continue; // beside the pairs, or hidden
    const above = bar.id === "outbox" ? box.top < innerHeight / 2 : bar.matches(".beside");
    if (above) top = Math.max(top, box.bottom);
    else bottom = Math.min(bottom, box.top);
  }
  return { top, bottom };
}

/** Return where a pair lies in the window, from its head to the end of what is asked: the report below is not read. */
function measure(card) {
  const end = [...card.querySelectorAll(".choices, .first-reason, [data-save]")].at(-1);
  return {
    name: nameIn(card),
    top: card.getBoundingClientRect().top,
    bottom: end.getBoundingClientRect().bottom,
    done: isDone(card),
  };
}

function turnTo(card, sure = true) {
  if (!card) return;
  arriving = false;
  reading.turnTo(nameIn(card), sure);
  look();
}

/** Mark the current pair, and count the time of the one that is read from now on. */
function look() {
  const all = byId("hit") ? cards() : [];
  if (!all.length) return null;
  const now = reading.look({ pairs: all.map(measure), area: readingArea(), alone: isAlone() });
  if (["timed", "others", "byMouse", "next"].some((part) => String(now[part]) !== String(current[part]))) {
    count();
    current = now;
  }
  for (const card of all) card.classList.toggle("current", nameIn(card) === now.marked);
  return all.find((card) => nameIn(card) === now.marked);
}

function turnToTarget({ target }) {
  turnTo(target.closest?.("[data-card]"));
}
document.addEventListener("click", turnToTarget); // not pointerdown: a finger that scrolls lands on any card
document.addEventListener("input", turnToTarget);
document.addEventListener("keyup", (event) => event.key === "Tab" && turnToTarget(event));
document.addEventListener("selectionchange", () => {
  const { isCollapsed, focusNode } = getSelection();
  if (!isCollapsed) turnTo((focusNode.closest ? focusNode : focusNode.parentElement)?.closest("[data-card]"));
});
addEventListener("hashchange", () => {
  const target = byId(location.hash.slice(1));
  const card = target?.closest("[data-card]");
  turnTo(card);
  if (card && target !== card) goOnIn(card, target);
  else if (card && isAlone()) go(card.querySelector("h2"));
});
document.addEventListener("click", ({ target }) => {
  const step = Number(target.closest?.("[data-step]")?.dataset.step ?? 0);
  const all = cards();
  const card = step && all[all.indexOf(target.closest("[data-card]")) + step];
  if (card) go(card.querySelector("h2"));
});
addEventListener("scroll", look, { passive: true });
addEventListener("resize", () => (arriving ? arrive() : look()));
for (const name of ["wheel", "touchmove"]) addEventListener(name, () => (arriving = false), { passive: true });

let lastKey = "";
document.addEventListener("pointerdown", () => press(true), true);
document.addEventListener("keydown", ({ key }) => press(false, key), true);
function press(byPointer, key = "") {
  arriving = false;
  lastKey = key;
  reading.press(byPointer);
}

let mouseAt = null;
document.addEventListener("pointermove", ({ target, pointerType, screenX, screenY }) => {
  const [before, after] = [mouseAt, `${screenX} ${screenY}`];
  if (pointerType === "touch" || before === after) return; // it was the page that moved
  mouseAt = after;
  const card = before && target.closest?.("[data-card]");
  if (card && reading.moveOver(nameIn(card))) look();
}, { passive: true });

const isGraded = (form) => form.querySelector(".graded") !== null; // offers more than left, right and no preference
const answered = new Set(); // ids of the forms that had a choice before
document.addEventListener("change", ({ isTrusted, target }) => {
  if (target.name !== "choice") return;
  forgetChange();
  const card = target.closest("[data-card]");
  const isNew = !answered.has(target.form.id);
  answered.add(target.form.id);
  const leads = byId("tool-advance")?.checked;
  const byPointer = reading.byPointer || !isTrusted;
  const passes = !byPointer && lastKey.startsWith("Arrow") && isGraded(target.form); // on its way to another
  if (isNew && !passes && (leads || (!isDone(card) && byPointer))) continueFrom(target);
  else look();
});

// Its time: every moment belongs to one pair, whichever tab of this browser the rater is in

const TIMES = "tandem.times.";
let input = Date.now();
let watched = false; // since the last look at the clock
let memory; // what storage holds too, unless the browser refuses it

function read() {
  try {
    const book = JSON.parse(localStorage.getItem(TIMES + assignment));
    return book?.spent ? book : memory;
  } catch {
    return memory;
  }
}

function write(book) {
  memory = book;
  try {
    localStorage.setItem(TIMES + assignment, JSON.stringify(book));
  } catch {
    // Without storage a reload begins with what the server knows.
  }
}

/** Book the time since any tab of this HIT has booked some: active and wall milliseconds. */
function count() {
  const [now, book, was] = [Date.now(), read(), watched];
  watched = !document.hidden;
  if (!was && !watched) return;
  const passed = Math.max(now - book.until, 0);
  if (was && book.input > input && passed < ASLEEP) return; // the rater is in another tab, which counts
  const name = was ? current.timed : (book.at ?? current.timed); // while no page was in view, the last pair kept the time
  if (name) {
    const until = Math.min(now, book.until + ASLEEP, input + IDLE);
    const active = was ? Math.max(until - book.until, 0) : 0;
    spend(book, name, active, passed);
    if (name === current.timed) reading.spend(current, active, passed);
  }
  write({ ...book, until: now, input, at: name });
}

function spend(book, name, active, wall) {
  const before = book.spent[name] ?? [0, 0];
  book.spent[name] = [before[0] + active, before[1] + wall];
}

const seconds = (ms) => (ms / 1000).toFixed(1);

// A choice is noted with the times of its pair.
document.addEventListener("noted", ({ target, detail }) => {
  look();
  count();
  const book = read();
  for (const [timed, active, wall] of reading.choose(nameOf(target), isDone(target.closest("[data-card]")))) {
    spend(book, timed, -active, -wall);
    spend(book, nameOf(target), active, wall);
  }
  write(book);
  if (target.dataset.question) return; // they are of the pair
  const [active, wall] = book.spent[nameOf(target)] ?? [0, 0];
  Object.assign(detail, { active_seconds: seconds(active), wall_seconds: seconds(wall) });
});

// What was spent on pairs since their votes goes along when the stage is closed.
document.addEventListener("formdata", ({ target, formData }) => {
  if (!target.matches("[data-leaves]")) return;
  count();
  const stage = byId("stage") ? "2" : undefined;
  for (const [name, [active, wall]] of Object.entries(read().spent)) {
    const [key, of] = name.split(" ");
    if (of === stage) formData.append("times", `${key}:${seconds(active)}:${seconds(wall)}`);
  }
});

/** Take over times from other browsers, and drop those of old HITs. */
function openBook() {
  const book = read();
  for (const form of document.querySelectorAll("form[data-times]")) {
    const [known, spent] = [form.dataset.times.split(" "), book.spent[nameOf(form)] ?? [0, 0]];
    book.spent[nameOf(form)] = spent.map((ms, place) => Math.max(ms, 1000 * known[place]));
  }
  write(book);
  try {
    for (const name of Object.keys(localStorage).filter((one) => one.startsWith(TIMES))) {
      const { until } = JSON.parse(localStorage.getItem(name)) ?? {};
      if (!(until > Date.now() - KEPT)) localStorage.removeItem(name);
    }
  } catch {
    // As above.
  }
}

for (const name of ["pointerdown", "pointermove", "keydown", "scroll", "wheel", "touchstart", "input"]) {
  addEventListener(name, () => (input = Date.now()), { capture: true, passive: true });
}
setInterval(() => {
  count();
  look();
}, 1000);
document.addEventListener("visibilitychange", count);
addEventListener("pagehide", count);

// Keys

const CHOICES = { 1: "left", 2: "none", 3: "right", ArrowLeft: "left", ArrowDown: "none", ArrowRight: "right" };
const UNDO = "0";
const pressed = []; // keys that wait until the page has moved on
let moving = false;
let changed = null; // the last choice that a key has changed: its form's id, and the value before

function forgetChange() {
  changed = null;
  byId("changes").textContent = "";
  document.querySelector(".changed")?.remove();
}

function tellChange(form, before, after) {
  changed = { id: form.id, value: before.value };
  const labels = [before, after].map((radio) => radio.closest("label").querySelector("bdi").innerText.trim());
  const text = words.changed.split("{}").map((part, place) => part + (labels[place] ?? "")).join("");
  byId("changes").textContent = `${placeOf(form)}: ${text}`;
  const line = document.createElement("p");
  line.className = "changed";
  line.textContent = text;
  form.after(line);
  line.scrollIntoView({ block: "nearest", behavior: "instant" });
}

/** The question that keys answer: the one with the focus, else the first that is open. */
function askedIn(card) {
  const forms = formsIn(card);
  const focused = forms.find((form) => form.contains(document.activeElement));
  return focused ?? forms.find((form) => !chosenIn(form)) ?? forms[0];
}

const radioOf = (form, key) =>
  isGraded(form) ? radiosIn(form)[key - 1] : radiosIn(form).find((radio) => radio.value === CHOICES[key]);

function choose(form, radio) {
  if (!radio) return;
  radio.focus({ preventScroll: true });
  radio.closest("fieldset").scrollIntoView({ block: "nearest", behavior: "instant" });
  turnTo(form.closest("[data-card]"));
  const before = chosenIn(form);
  if (before === radio && form.matches(".rated, .second")) return;
  radio.checked = true;
  radio.dispatchEvent(new Event("change", { bubbles: true }));
  if (before && before !== radio && !form.matches(".second")) tellChange(form, before, radio);
}

function undo() {
  const form = changed && byId(changed.id);
  if (form) choose(form, radiosIn(form).find((radio) => radio.value === changed.value));
}

/** Scroll a pair into the reading area, where it does not fit from its top. At once: smoothly, others would get the time. */
function show(card) {
  const isInside = () => {
    const [area, pair] = [readingArea(), measure(card)];
    return pair.top >= area.top && pair.bottom <= area.bottom;
  };
  if (isInside()) return;
  card.scrollIntoView({ behavior: "instant" }); // so that the bars are where they stay
  scrollBy({ top: measure(card).top - readingArea().top - GAP, behavior: "instant" });
}

function go(target, sure = true) {
  const card = target.closest("[data-card]");
  if (isAlone()) turnTo(card, sure); // it is hidden
  target.focus({ preventScroll: true });
  if (card) show(card);
  target.scrollIntoView({ block: "nearest", behavior: "instant" });
  turnTo(card, sure);
}

/** Show the first open pair of a HIT that has come; messages, and a warning that is new, are read before it. */
function arrive() {
  const card = cards().find((one) => !isDone(one));
  if (!card) return look();
  turnTo(card, false);
  const hasMessage = document.querySelector("main .notice:not([hidden], [role=note], .hit *)") || isWarningNew;
  if (!hasMessage || card !== cards()[0]) show(card);
  look();
  arriving = true;
}

/** What is open on a pair after a field, or else before it. */
function openAfter(card, field) {
  const open = openIn(card);
  return open.find((one) => field.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING) ?? open[0];
}

/** Go to a question of a pair, or to its reason. */
function goOnIn(card, place) {
  if (isAlone()) turnTo(card);
  const target = chosenIn(place) ?? radiosIn(place)[0] ?? place;
  target.focus({ preventScroll: true });
  target.closest("fieldset, .first-reason").scrollIntoView({ block: "nearest", behavior: "instant" });
  turnTo(card);
}

const after = (card) => cards()[cards().findIndex((one) => one.id === card.id) + 1];

/** All that is asked of a pair is answered: the next one need not wait until it is saved, the end of the HIT does. */
function leadOn(card) {
  if (after(card)) return go(after(card).querySelector("h2"), false);
  pressed.unshift("Enter");
  pressAll();
}

/** Go from a field to what else is open on its pair, or to the next pair. */
export function continueFrom(field) {
  const card = field.closest("[data-card]");
  if (isDone(card)) leadOn(card);
  else goOnIn(card, openAfter(card, field));
}

const endOf = () => document.querySelector("[data-action=lock], [data-action=submit]");

async function next(card) {
  const form = formIn(card);
  if ("second" in form.dataset) {
    form.requestSubmit(form.querySelector("[data-save]"));
    await settled(form);
    if (form.isConnected) pressed.length = 0; // it was not taken, or waits: the keys were meant for the next pair
  } else {
    await Promise.all(formsIn(card).map((one) => settled(one)));
    go(after(card)?.querySelector("h2") ?? endOf());
  }
}

function back(card) {
  const all = cards();
  const onEnd = document.activeElement === endOf();
  const before = onEnd ? all.at(-1) : all[all.findIndex((one) => one.id === card?.id) - 1];
  if (before) go(before.querySelector("h2"));
}

/** Tell whether the rater is about to end the HIT, its last pair being done: a key pressed once too often changes nothing. */
const isAtEnd = (card) => isDone(card) && document.activeElement === endOf();

function handle(key) {
  const card = look();
  if (key === "Backspace") back(card);
  else if (key === UNDO) undo();
  else if (key === "Enter") return card && next(card);
  else if (card && !isAtEnd(card)) choose(askedIn(card), radioOf(askedIn(card), key));
}

/** Handle keys one after the other, each on the page that the one before left. */
async function pressAll() {
  if (moving) return;
  moving = true;
  try {
    while (pressed.length) await handle(pressed.shift());
  } finally {
    moving = false;
  }
}

let cameFrom = "";
function openList() {
  cameFrom = document.activeElement.id;
  byId("keys").showModal();
}
// By its id: an answer of the server may have replaced it meanwhile. (This event does not bubble.)
document.addEventListener("close", () => byId(cameFrom)?.focus({ preventScroll: true }), true);
document.addEventListener("click", ({ target }) => target.closest?.("#tool-help") && openList());

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  const held = event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && key !== "?");
  if (event.defaultPrevented || held || event.isComposing || event.repeat) return;
  if (!byId("tool-keys")?.checked || byId("keys").open) return;
  if (target.closest?.(TYPING) || target.closest?.(".report")) return;
  const chooses = key in CHOICES || /^[4-6]$/.test(key);
  const arrow = chooses && key.startsWith("Arrow");
  // Elsewhere the arrows scroll.
  if (arrow && !target.matches("body, h1") && (!target.closest("[data-card]") || target.closest("[role=region], .scroll"))) return;
  if (arrow && cards().length && isGraded(askedIn(look()))) return; // there they go from choice to choice, as in any form
  if (key === "Enter" && target.closest?.("a, button, summary")) return;
  const guidelines = byId("guidelines");
  if (key === "?") openList();
  else if (key === "h" && guidelines) guidelines.open = !guidelines.open;
  else if (chooses || ["Enter", "Backspace", UNDO].includes(key)) {
    pressed.push(key);
    pressAll();
  } else return;
  event.preventDefault();
});

// New parts of the page

document.addEventListener("htmx:afterSettle", (event) => {
  look();
  const { requestConfig, xhr } = event.detail;
  if (event.target.id !== "stage" || !requestConfig?.elt.matches("form[data-second]") || xhr.status !== 200) return;
  const card = cards()[0];
  go(card ? (card.querySelector("[role=region]") ?? card.querySelector("h2")) : endOf());
});

let hits = 0;
let warning = ""; // about the content of a study's texts
let isWarningNew = false;
onHit(() => {
  if (hits++) {
    document.querySelector("h1").focus({ preventScroll: true }); // the button that had it is gone
    scrollTo({ top: 0, behavior: "instant" }); // before the pair in view is looked for
  }
  byId("announcer").textContent = document.querySelector(".thanks")?.textContent ?? "";
  if (!byId("hit")) return;
  ({ assignment } = byId("hit").dataset);
  const before = warning;
  warning = document.querySelector("main [role=note]")?.textContent ?? "";
  isWarningNew = warning !== "" && warning !== before;
  [current, changed, pressed.length] = [{}, null, 0];
  reading.begin();
  memory = { until: Date.now(), input: 0, at: null, spent: {} };
  answered.clear();
  for (const form of cards().flatMap(formsIn).filter(chosenIn)) answered.add(form.id);
  openBook();
  count();
  arrive();
});
