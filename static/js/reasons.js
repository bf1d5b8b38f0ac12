// Reasons: kept while they are written, and for their writer only. That of a second vote is in the vote's form and needed
// for a change; that of a first vote stands beside the form, is sent with the choice, and again when only it has changed.
import { onHit, send, waiting } from "./outbox.js";
import { continueFrom } from "./rate.js";
import { remember, remembered } from "./tools.js";

const byId = (id) => document.getElementById(id);
let hit; // the HIT in view

const isSecond = (form) => "second" in form.dataset;
/** Return the part of a form for a first vote that holds the reason which the server has. */
const storedIn = (form) => form.querySelector("[data-reason]");
const firsts = () => [...document.querySelectorAll("[data-reason]")].map((stored) => stored.closest("form"));
/** Tell whether the reason beside a form is another one than the server has. */
const isTyped = (form) => form.elements.reason.value.trim() !== storedIn(form).dataset.reason.trim();

// Drafts

const DRAFTS = "tandem.reason.";
const draftsOf = (form) => `reason.${hit.owner}.${hit.assignment}.${form.dataset.pair}.`;
// Of the version that the server had: another device may have written a newer reason, which an old draft must not replace.
const draftOf = (form) => `${draftsOf(form)}${form.elements.version.value}`;
const storageOf = (form) => (isSecond(form) ? "sessionStorage" : "localStorage");

function forget(storage, unwanted) {
  try {
    for (const name of Object.keys(window[storage])) {
      if (name.startsWith(DRAFTS) && unwanted(name)) window[storage].removeItem(name);
    }
  } catch {
    // Then nothing was kept.
  }
}

const forgetDrafts = (form) => forget(storageOf(form), (name) => name.startsWith(`tandem.${draftsOf(form)}`));
const draft = (form) => remembered(draftOf(form), storageOf(form));
const keepDraft = (form) => remember(draftOf(form), form.elements.reason.value, storageOf(form));

// While it is written

function weigh(form) {
  const reason = form.elements.reason;
  const [least, length] = [Number(reason.dataset.least ?? 0), [...reason.value.trim()].length];
  if (isSecond(form)) {
    const chosen = form.elements.choice.value;
    const changed = chosen !== "" && chosen !== form.dataset.first;
    reason.required = changed;
    reason.minLength = changed ? least : 0;
  } else reason.classList.toggle("short", length < least); // the pair is open, see rate.js
  const count = byId(`hint-${form.dataset.pair}`).querySelector(".count");
  count.textContent = count.dataset.words.replace("{}", length);
}

function onReason({ target }) {
  const form = target.form ?? target.closest?.("form");
  if (!form || !(isSecond(form) || storedIn(form))) return;
  weigh(form);
  keepDraft(form);
}
for (const name of ["input", "change", "restored"]) document.addEventListener(name, onReason, true);

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key !== "Enter" || !(event.ctrlKey || event.metaKey) || !target.dataset?.vote) return;
  event.preventDefault();
  sendReason(target.form);
  continueFrom(target);
});

// Sending that of a first vote

function sendReason(form) {
  if (!form.elements.choice.value) return;
  const sent = waiting(form);
  if (sent ? sent.reason !== form.elements.reason.value : isTyped(form)) send(form);
}
document.addEventListener("change", ({ target }) => target.dataset.vote && sendReason(target.form));
// Before the outbox looks whether anything waits.
addEventListener("submit", ({ target }) => target.matches("[data-leaves]") && firsts().forEach(sendReason), true);

document.addEventListener("overtaken", ({ target, detail }) => {
  if (storedIn(target) && !isTyped(target)) target.elements.reason.value = storedIn(detail).dataset.reason;
});

// New parts of the page

document.addEventListener("htmx:afterRequest", ({ detail: { requestConfig: { elt }, xhr } }) => {
  if (elt.matches("form[data-second]") && xhr.status >= 200 && xhr.status <= 299) forgetDrafts(elt);
});

function dress() {
  if (!byId("hit")) return;
  for (const form of document.querySelectorAll("form[data-second]")) {
    form.elements.reason.value ||= draft(form) ?? "";
    weigh(form);
  }
  for (const form of firsts()) {
    forgetDrafts(form);
    if (isTyped(form)) keepDraft(form); // what was written while the version before was sent
    weigh(form);
  }
}

/** Take up what was written before the page was loaded again; that of a first vote is sent if a choice is there. */
function begin() {
  if (!byId("hit")) return;
  hit = byId("hit").dataset;
  for (const storage of ["sessionStorage", "localStorage"]) {
    forget(storage, (name) => !name.startsWith(`${DRAFTS}${hit.owner}.`));
  }
  for (const reason of document.querySelectorAll("[data-vote]")) {
    reason.name = "reason"; // without scripts it belongs to the form that ends the HIT
    reason.setAttribute("form", reason.dataset.vote);
    const kept = draft(reason.form);
    if (kept === null) continue;
    reason.value = kept;
    sendReason(reason.form);
  }
  dress();
}

onHit(begin);
document.addEventListener("htmx:afterSwap", dress);
