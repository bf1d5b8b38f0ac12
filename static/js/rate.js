// The pair that the rater is at: it is marked, takes the keys, and its time is counted.
(function () {
  "use strict";
  const hit = document.getElementById("hit");
  if (!hit) return;
  const IDLE = 30000; // ms without input after which nobody is thought to be there
  const SEEN = 60; // pixels of a card in view that make it one that is looked at
  const TYPING = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=hidden])";
  const dialog = document.getElementById("keys");
  const keysOn = document.getElementById("tool-keys");
  const cards = () => [...document.querySelectorAll("[data-card]")];
  const formIn = (card) => card?.querySelector("form[data-pair]");
  let touched = null; // id of the card that had the focus or the pointer last
  let moving = false;

  // The current pair

  function inView(card) {
    const { top, bottom } = card.getBoundingClientRect();
    return Math.min(bottom, innerHeight) - Math.max(top, 0);
  }

  function current() {
    const all = cards();
    const last = all.find((card) => card.id === touched);
    if (last && inView(last) > SEEN) return last;
    return all.reduce((best, card) => (best && inView(best) >= inView(card) ? best : card), null);
  }

  function mark() {
    const now = current();
    for (const card of cards()) card.classList.toggle("current", card === now);
  }

  function touch(event) {
    const card = event.target.closest?.("[data-card]");
    if (card) touched = card.id;
    mark();
  }
  document.addEventListener("focusin", touch);
  document.addEventListener("pointerdown", touch);
  let asked = false;
  function markSoon() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      mark();
    });
  }
  addEventListener("scroll", markSoon, { passive: true });
  addEventListener("resize", markSoon);

  // Its time

  const BOOK = `tandem:times:${hit.dataset.assignment}`;
  const nameOf = (form) => form.dataset.pair + ("second" in form.dataset ? ":2" : "");
  let book = {};
  try {
    book = JSON.parse(sessionStorage.getItem(BOOK)) ?? {};
  } catch {
    // Without storage a reload begins to count anew.
  }
  let input = Date.now();
  let counted = Date.now();

  function count() {
    const now = Date.now();
    const passed = Math.min(now - counted, 2000); // more means that the machine slept
    counted = now;
    if (document.hidden) return;
    for (const card of cards().filter((one) => inView(one) > SEEN)) book[nameOf(formIn(card))] ??= { since: now, active: 0 };
    const entry = current() && book[nameOf(formIn(current()))];
    if (entry && now - input < IDLE) entry.active += passed;
    try {
      sessionStorage.setItem(BOOK, JSON.stringify(book));
    } catch {
      // As above.
    }
  }

  function times(form) {
    count();
    const entry = book[nameOf(form)] ?? { since: Date.now(), active: 0 };
    const seconds = (ms) => (ms / 1000).toFixed(1);
    return { active_seconds: seconds(entry.active), wall_seconds: seconds(Date.now() - entry.since) };
  }

  for (const name of ["pointerdown", "pointermove", "keydown", "scroll", "wheel", "touchstart", "input"]) {
    addEventListener(name, () => (input = Date.now()), { capture: true, passive: true });
  }
  setInterval(count, 1000);
  document.addEventListener("visibilitychange", count);
  window.tandem = { ...window.tandem, times };

  // Keys

  const CHOICES = { 1: "left", 2: "none", 3: "right", ArrowLeft: "left", ArrowDown: "none", ArrowRight: "right" };

  function choose(card, value) {
    const radio = formIn(card)?.querySelector(`input[name=choice][value=${value}]`);
    if (!radio) return;
    touched = card.id;
    radio.focus({ preventScroll: true });
    radio.closest("fieldset").scrollIntoView({ block: "nearest", behavior: "instant" });
    if (radio.checked && formIn(card).matches(".rated, .second")) return;
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function go(target) {
    const card = target.closest("[data-card]");
    if (card) touched = card.id;
    target.focus({ preventScroll: true });
    const area = card ?? target;
    // At once, never smoothly: a key pressed on the way would go to the pair that is passed by.
    area.scrollIntoView({ block: area.offsetHeight < innerHeight * 0.8 ? "nearest" : "start", behavior: "instant" });
    target.scrollIntoView({ block: "nearest", behavior: "instant" }); // an open source leaves less room
    mark();
  }

  const endOf = () => document.querySelector("[data-action=lock], [data-action=submit]");

  async function next(card) {
    if (moving) return;
    moving = true;
    const form = formIn(card);
    if ("second" in form.dataset) form.requestSubmit(form.querySelector("[data-save]"));
    else {
      await window.tandem.settled(form);
      const all = cards();
      const after = all[all.findIndex((one) => one.id === card.id) + 1];
      go(after ? after.querySelector("h2") : endOf());
    }
    moving = false;
  }

  function back(card) {
    const all = cards();
    const onEnd = document.activeElement === endOf();
    const before = onEnd ? all.at(-1) : all[all.findIndex((one) => one.id === card?.id) - 1];
    if (before) go(before.querySelector("h2"));
  }

  let cameFrom = "";
  function openList() {
    cameFrom = document.activeElement.id;
    dialog.showModal();
  }
  // By its id: an answer of the server may have replaced it meanwhile.
  dialog.addEventListener("close", () => document.getElementById(cameFrom)?.focus({ preventScroll: true }));
  document.getElementById("tool-help").addEventListener("click", openList);

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const held = event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && key !== "?");
    if (event.defaultPrevented || held || event.isComposing || event.repeat) return;
    if (!keysOn.checked || dialog.open || target.closest?.(TYPING) || target.closest?.(".report")) return;
    const value = CHOICES[key];
    const arrow = value && key.startsWith("Arrow");
    // Elsewhere the arrows scroll.
    if (arrow && target !== document.body && (!target.closest("[data-card]") || target.closest("[role=region]"))) return;
    if (key === "Enter" && target.closest?.("a, button, summary")) return;
    const card = current();
    if (key === "?") openList();
    else if (key === "Backspace") back(card);
    else if (value && card) choose(card, value);
    else if (key === "Enter" && card) next(card);
    else return;
    event.preventDefault();
  });

  // New parts of the page

  document.addEventListener("htmx:afterSettle", (event) => {
    mark();
    const { requestConfig, xhr } = event.detail;
    if (event.target.id !== "stage" || !requestConfig?.elt.matches("form[data-second]") || xhr.status !== 200) return;
    const card = cards()[0];
    go(card ? (card.querySelector("[role=region]") ?? card.querySelector("h2")) : endOf());
  });

  if (location.hash) touched = location.hash.slice(1);
  else touched = cards().find((card) => !formIn(card)?.matches(".rated"))?.id ?? null;
  mark();
  count();
})();
