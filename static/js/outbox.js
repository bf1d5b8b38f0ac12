// No choice is lost: each is written into this browser before it is sent, and stays there until the server has answered.
// Without this file the page still works: htmx saves the choices, and without htmx the forms do.

if (!window.htmx) { // this also keeps the files that import this one from taking the forms over
  for (const part of document.querySelectorAll("noscript")) part.outerHTML = part.innerHTML;
  throw new Error("htmx is missing: the forms are sent as they are without scripts");
}

const byId = (id) => document.getElementById(id);
const words = byId("words").dataset;
let hit = byId("hit").dataset; // the HIT in view, or the last one
const PREFIX = `tandem:${hit.owner}:`; // a shared computer may keep choices of several people
const SLOW = 2500; // ms after which the page says that a choice waits, and lets the rater continue
const TIMEOUT = 15000;
const LONGEST_PAUSE = 30000;

const memory = new Map(); // what localStorage holds too, unless the browser refuses it
const inFlight = new Map(); // key of a question of a pair → id of the entry on its way
const carried = new Map(); // key → id of the entry that a submission has taken along
const overtaken = new Set(); // keys on their way whose choice a submission has brought already
const late = new Set(); // keys of those whose waiting has been shown to the rater
const waiters = new Map(); // key → functions to call when its choice is saved or seen to wait
let pause = 1000;
let timer = 0;
let flushing = false;
let wanted = ""; // id of the form to submit when no choice waits any more
let unsent = ""; // why it waits although none does
const duties = new Map(); // key, or id of the form to submit → what the rater has to do first: a text, a link's address and name
let renewed = false; // a token since the last answer
let isKept = true; // also where the page is left
let leaving = false;

// Without scripts a pair's fields belong to the form that ends the HIT; here each question has a form of its own.
function separate(page) {
  for (const field of page.querySelectorAll("form[data-pair] [form]")) {
    field.name = field.name.split("-")[0];
    field.removeAttribute("form");
  }
  return page;
}

// The entries

function inStorage(use) {
  try {
    use(localStorage);
  } catch {
    isKept = false; // Storage is off or full: choices wait in this page only.
  }
}

function put(key, entry) {
  memory.set(key, entry);
  inStorage((storage) => storage.setItem(key, JSON.stringify(entry)));
}

function drop(key, id) {
  if (memory.get(key)?.id !== id) return; // the rater has chosen again meanwhile
  memory.delete(key);
  duties.delete(key);
  inStorage((storage) => storage.removeItem(key));
}

const nameOf = ({ pair, question }) => (question ? `${pair}.${question}` : pair);
const keyOf = (form) => PREFIX + form.getAttribute("action") + nameOf(form.dataset);
const voteForm = (element) => element?.closest?.("form[data-pair]");
const formOf = (key) => [...document.querySelectorAll("form[data-pair]")].find((form) => keyOf(form) === key);
const here = () => [...memory.keys()].filter(formOf);

function note(form) {
  const fields = Object.fromEntries(new FormData(form));
  delete fields.csrfmiddlewaretoken;
  fields.chosen_at = new Date().toISOString();
  form.dispatchEvent(new CustomEvent("noted", { bubbles: true, detail: fields })); // rate.js adds the times
  put(keyOf(form), { id: `${Date.now()}.${Math.random()}`, action: form.getAttribute("action"), fields });
}

/** What of a form waits to be sent. */
export const waiting = (form) => memory.get(keyOf(form))?.fields;

/** Send a form whose choice has not changed. */
export function send(form) {
  note(form);
  window.htmx.trigger(form, "resend");
}

// What the rater sees

function say(form, text, state) {
  const saved = form.querySelector(".saved");
  saved.parentElement.classList.remove("rated");
  saved.className = `saved ${state}`;
  saved.replaceChildren(text);
  if (state === "error") saved.setAttribute("role", "alert");
}

/** Name the pair of a form, and the question if there are several. */
export const placeOf = ({ dataset }) => dataset.name ?? words.place.replace("{}", dataset.place);

function announce(form, text) {
  byId("announcer").textContent = `${placeOf(form)}: ${text}`;
}

/** What the rater has to do first; null where time will do. */
function dutyOf(status, answer, address) {
  if (status === 401) {
    return { text: messageOf(answer, words.signedOut), address: `${words.signInAddress}?next=${hit.address}`, name: words.signIn };
  }
  if (status === "consent") return { text: words.consent, address, name: words.consentLink };
  const passes = !(status >= 400 && status < 500) || [408, 425, 429].includes(status);
  return passes ? null : { text: words.outdated, address, name: words.loadAgain };
}

function linkTo(address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.textContent = name;
  if (isKept) link.addEventListener("click", () => (leaving = true));
  else link.target = "_blank";
  return link;
}

/** Add the number of a server's error, as its log has it. */
function numbered(text, xhr) {
  const number = xhr?.status >= 500 && xhr.getResponseHeader("X-Request-ID");
  return number ? `${text} ${words.number} ${number}` : text;
}

function sayWaiting(form, xhr) {
  if (!late.has(keyOf(form))) announce(form, words.waiting);
  late.add(keyOf(form));
  say(form, numbered(words.waiting, xhr), "waiting");
}

function tellElsewhere(...parts) {
  const box = byId("refused");
  if (!box) return; // there is no HIT any more
  box.replaceChildren(...parts);
  box.hidden = false;
}

/** Say in the bar what waits, and what the rater has to do about it. */
function paint() {
  const line = byId("outbox");
  if (!line) return;
  const count = [...memory.keys()].filter((key) => late.has(key) || !formOf(key)).length;
  const duty = [...duties].find(([key, one]) => one && (memory.has(key) || key === wanted))?.[1];
  const why = duty?.text ?? (unsent || (count && (navigator.onLine ? words.byItself : words.offline)));
  const then = wanted && !unsent && words.queueThen;
  const text = [count && words.queue.replace("{}", count), why, then].filter(Boolean).join(" ");
  const link = duty && linkTo(duty.address, duty.name);
  const shown = [text, link?.textContent].filter(Boolean).join(" ");
  if (line.textContent === shown) return; // the link may have the focus
  line.replaceChildren(...(link ? [text, " ", link] : [text]));
  line.hidden = !text;
  if (link) byId("announcer").textContent = shown;
}

function restore(form, entry) {
  const radio = form.querySelector(`input[name=choice][value="${CSS.escape(entry.fields.choice)}"]`);
  if (radio) radio.checked = true;
  if ("second" in form.dataset) form.elements.reason.value = entry.fields.reason ?? "";
  form.dispatchEvent(new Event("restored", { bubbles: true }));
}

function messageOf(html, otherwise) {
  const found = new DOMParser().parseFromString(html, "text/html");
  const message = found.querySelector("[role=alert] .preserve") ?? found.querySelector("[role=alert]");
  return message?.textContent.trim() || otherwise;
}

// Sending by htmx

const token = () => /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";
const isAnswer = (status) => (status >= 200 && status < 300) || [404, 409, 422].includes(status);

function statusOf(detail) {
  const { xhr, requestConfig } = detail;
  const answered = xhr.status && new URL(xhr.responseURL, location.href).pathname;
  if (answered && answered !== new URL(requestConfig.path, location.href).pathname) return 401;
  return xhr.getResponseHeader("X-Tandem-Wait") ?? xhr.status;
}

function settle(key) {
  for (const resolve of waiters.get(key) ?? []) resolve();
  waiters.delete(key);
}

// In the capture phase, before htmx, which may drop the event while an earlier choice is on its way.
document.addEventListener("change", (event) => {
  const form = voteForm(event.target);
  if (form && event.target.name === "choice" && !("second" in form.dataset)) note(form);
}, true);
document.addEventListener("submit", (event) => {
  if (event.target.matches("form[data-pair]")) note(event.target);
}, true);

document.addEventListener("htmx:configRequest", (event) => {
  const { elt, parameters } = event.detail;
  if (token() && parameters.csrfmiddlewaretoken) parameters.csrfmiddlewaretoken = token(); // new since a sign-in
  if (elt.matches("[data-leaves]")) return takeAlong(parameters);
  const form = voteForm(elt);
  const entry = form && memory.get(keyOf(form));
  if (!entry) return;
  for (const [name, value] of Object.entries(entry.fields)) parameters[name] = value;
  const key = keyOf(form);
  inFlight.set(key, entry.id);
  if (!late.has(key)) say(form, words.saving, "");
  setTimeout(() => {
    const now = formOf(key);
    if (inFlight.get(key) !== entry.id || !now) return;
    sayWaiting(now);
    settle(key);
    paint();
  }, SLOW);
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const { requestConfig, xhr } = event.detail;
  if (!voteForm(requestConfig.elt)) return;
  const whole = xhr.responseText.includes("hit-status"); // a refusal may come as a message alone
  if (!isAnswer(statusOf(event.detail)) || !whole) event.detail.shouldSwap = false;
});

document.addEventListener("htmx:afterRequest", ({ detail }) => {
  const sender = detail.requestConfig.elt; // the response may have replaced it; detail.elt is the new element
  if (!sender.matches("form[data-pair]")) return;
  const key = keyOf(sender);
  if (overtaken.delete(key)) return;
  const id = inFlight.get(key);
  inFlight.delete(key);
  const status = statusOf(detail);
  if (isAnswer(status)) answered(sender, id, status, detail.xhr.responseText);
  else failed(key, status, detail.xhr);
  if (late.has(key) || !memory.has(key)) settle(key); // else a newer choice is still to be sent
  paint();
});

function answered(sender, id, status, html) {
  const key = keyOf(sender);
  const form = formOf(key); // after a refusal its successor, which came with the answer
  pause = 1000;
  renewed = false;
  late.delete(key);
  drop(key, id);
  if (status >= 400) {
    wanted = "";
    if (form && !html.includes("hit-status")) say(form, messageOf(html, words.refused), "error");
    // Other pairs may have been changed there too; of a HIT that is closed the answer says why.
    if (status === 409) setTimeout(compare, 0, html.includes("hit-status") ? undefined : messageOf(html, words.wentOn));
  } else {
    announce(sender, words.saved);
  }
  const newer = memory.get(key);
  if (newer && form) {
    newer.fields.version = form.elements.version.value;
    put(key, newer);
    restore(form, newer);
    say(form, words.saving, "");
  }
  setTimeout(() => { // when htmx is done with this request
    if (newer && form) window.htmx.trigger(form, "resend");
    if (memory.size) flush();
    else goOn();
  });
}

function failed(key, status, xhr) {
  if (formOf(key)) sayWaiting(formOf(key), xhr);
  hold(key, status, xhr.responseText, xhr.getResponseHeader("Retry-After"));
}

// Small forms beside the votes: not kept, but a failure is shown

document.addEventListener("htmx:beforeSwap", (event) => {
  const { requestConfig, xhr } = event.detail;
  if (requestConfig.elt.matches("form[data-small]") && xhr.status >= 400) event.detail.shouldSwap = false;
});
document.addEventListener("htmx:afterRequest", ({ detail: { requestConfig: { elt }, xhr, successful } }) => {
  if (!elt.matches("form[data-small]")) return;
  const problem = elt.querySelector(".problem");
  problem.hidden = successful;
  if (xhr.status === 403) loads(); // another token, for the next try
  if (!successful) problem.textContent = messageOf(xhr.responseText, words.notSent);
});

// Sending again

/** Try again after a pause; `wait` is what the server asks for in seconds (a date, as proxies send, is no number). */
function later(wait) {
  clearTimeout(timer);
  pause = Math.min(Math.max(pause, Number(wait) * 1000 || 0), LONGEST_PAUSE);
  timer = setTimeout(flush, pause);
  pause = Math.min(pause * 2, LONGEST_PAUSE);
}

/** Say what the rater has to do, and try again later. A token that is not taken any more comes again with any page. */
async function hold(key, status, answer, wait, address = hit.address) {
  const renews = status === 403 && !renewed;
  renewed ||= renews;
  duties.set(key, renews && (await loads()) ? null : dutyOf(status, answer, address));
  later(wait);
  paint();
}

async function loads() {
  try {
    return (await fetch(hit.address, { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT) })).ok;
  } catch {
    return false;
  }
}

async function flush() {
  if (flushing) return;
  flushing = true;
  clearTimeout(timer);
  try {
    for (const key of [...memory.keys()]) {
      const form = formOf(key);
      if (inFlight.has(key)) continue;
      if (form) {
        window.htmx.trigger(form, "resend");
        if (inFlight.has(key)) await settled(form, true);
      } else if (memory.has(key)) await sendElsewhere(key, memory.get(key));
      if (late.has(key) && memory.has(key)) { // the timer is set: no use in trying the others now
        const entry = memory.get(key);
        memory.delete(key);
        memory.set(key, entry); // and next time they come first: a choice that always fails must not block the others
        break;
      }
    }
  } finally {
    flushing = false;
  }
  paint();
  goOn();
}

async function sendElsewhere(key, entry) {
  try {
    const answer = await fetch(entry.action, {
      method: "POST",
      body: new URLSearchParams({ ...entry.fields, owner: hit.owner }),
      headers: { "HX-Request": "true", "X-CSRFToken": token() },
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    const status = answer.headers.get("X-Tandem-Wait") ?? answer.status;
    const text = await answer.text();
    if (!isAnswer(status)) {
      return hold(key, status, text, answer.headers.get("Retry-After"), entry.action.replace(/\w+\/$/, ""));
    }
    renewed = false;
    drop(key, entry.id);
    if (!answer.ok) tellElsewhere(`${words.refusedElsewhere} ${messageOf(text, words.refused)}`);
  } catch {
    later();
  }
}

/** Wait until a pair's choice is on the server or, unless `answer`, visibly waiting. */
export function settled(form, answer = false) {
  const key = keyOf(form);
  if (!answer && (!inFlight.has(key) || late.has(key))) return Promise.resolve();
  return new Promise((resolve) => waiters.set(key, [...(waiters.get(key) ?? []), resolve]));
}

function goOn() {
  const form = wanted && byId(wanted);
  if (!form || here().length) return;
  wanted = unsent = "";
  form.requestSubmit();
}

// The end of a HIT or of its first stage: the answer holds what comes next, and takes this page's place

// In the capture phase, before htmx.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-leaves]")) return;
  if (here().every(travels) && navigator.onLine && !leaving) {
    leaving = true; // and a second click sends nothing more
    wanted = "";
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  if (leaving) return;
  wanted = form.id;
  unsent = here().length ? "" : words.offline;
  if (here().length) flush();
  paint();
}, true);

/** Whether a choice can go with the form that ends the stage: a first one on its way, of which no trouble is known. */
const travels = (key) => !("second" in formOf(key).dataset) && !late.has(key);

/** Put the choices on their way into the request that ends the stage, so that both take one round trip. */
function takeAlong(parameters) {
  carried.clear();
  for (const key of here()) {
    const { id, fields } = memory.get(key);
    carried.set(key, id);
    for (const name of Object.keys(fields)) {
      if (!["pair_key", "question", "page", "owner", "again"].includes(name)) {
        parameters[`${name}-${nameOf(formOf(key).dataset)}`] = fields[name];
      }
    }
  }
}

const isPage = (xhr) => xhr.responseText.includes('id="main"');
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail.requestConfig.elt.matches("[data-leaves]")) return;
  if (!isPage(detail.xhr)) detail.shouldSwap = false;
  if (!isAnswer(statusOf(detail))) return;
  for (const [key, id] of carried) {
    drop(key, id);
    if (inFlight.delete(key)) overtaken.add(key);
  }
  carried.clear();
});

document.addEventListener("htmx:afterRequest", ({ detail }) => {
  const { requestConfig: { elt }, xhr } = detail;
  if (!elt.matches("[data-leaves]") || detail.successful) return;
  leaving = false;
  const status = statusOf(detail);
  if (!isAnswer(status)) {
    wanted = elt.id;
    unsent = navigator.onLine ? numbered(words.submitWaits, xhr) : words.offline;
    hold(wanted, status, xhr.responseText, xhr.getResponseHeader("Retry-After"));
  } else if (!isPage(xhr)) tellElsewhere(messageOf(xhr.responseText, words.notSent));
});

addEventListener("beforeunload", (event) => {
  if (here().length && !leaving) event.preventDefault();
});
addEventListener("pageshow", ({ persisted }) => {
  leaving = false;
  if (persisted) compare();
});
function now() {
  if (!memory.size && !wanted) return paint();
  pause = 1000;
  flush();
}
addEventListener("online", now);
document.addEventListener("visibilitychange", () => document.hidden || now());

// Changes by other tabs and devices: ask the server when the rater comes back

let away = false;
let comparing = false;
let again = false; // asked for while an answer is on its way, which may be older than what has changed
const leave = () => (away = true);
const comeBack = () => away && !document.hidden && compare();
addEventListener("blur", leave);
addEventListener("focus", comeBack);
document.addEventListener("visibilitychange", () => (document.hidden ? leave() : comeBack()));

/** Ask the server for this HIT; `reason` says why it can't be continued on this page, where that is so. */
async function compare(reason = hit.closed ?? words.wentOn) {
  if (leaving || !byId("hit")) return;
  away = false;
  again = comparing;
  if (comparing) return;
  comparing = true;
  try {
    const address = location.pathname === hit.address ? location.pathname + location.search : hit.address;
    const answer = await fetch(address, { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT) });
    if (answer.ok) update(separate(new DOMParser().parseFromString(await answer.text(), "text/html")), reason);
    else if (answer.type === "opaqueredirect") tellElsewhere(reason, " ", linkTo(address, words.loadAgain));
    else if (answer.status === 409) tellElsewhere(messageOf(await answer.text(), reason));
  } catch {
    away = true; // and is asked the next time
  } finally {
    comparing = false;
  }
  if (again) compare(reason);
}

function update(page, reason) {
  const versionOf = (form) => Number(form.elements.version.value);
  const isOlder = (form, held) => !held || versionOf(form) < versionOf(held); // else it was chosen here meanwhile
  const both = [...document.querySelectorAll("form[data-pair]")].map((form) => [form, page.getElementById(form.id)]);
  const changed = both.filter(([form, held]) => isOlder(form, held) && !memory.has(keyOf(form)));
  const moved = ([form, held]) => !held || "second" in { ...form.dataset, ...held.dataset };
  if (changed.some(moved)) return tellElsewhere(reason, " ", linkTo(hit.address, words.loadAgain));
  for (const [form, held] of changed) {
    form.dispatchEvent(new CustomEvent("overtaken", { bubbles: true, detail: held }));
    held.querySelector(".saved").append(" ", words.elsewhere);
    window.htmx.swap(form, held.outerHTML, { swapStyle: "outerHTML", settleDelay: 0 });
    announce(held, words.elsewhere);
  }
  const [foot, now] = [document, page].map((one) => one.getElementById("hit-status"));
  if (changed.length) window.htmx.swap(foot, now.outerHTML, { swapStyle: "outerHTML", settleDelay: 0 });
}

// Another tab has sent or taken back what waits here: ask the server.
addEventListener("storage", ({ key, newValue }) => {
  if (!key?.startsWith(PREFIX) || newValue !== null) return;
  if (!memory.has(key)) return formOf(key) && compare();
  memory.delete(key);
  duties.delete(key);
  const form = formOf(key);
  if (form && late.delete(key) && !inFlight.has(key)) window.htmx.trigger(form, "resend");
  paint();
});

function read(text) {
  try {
    const { id, action, fields } = JSON.parse(text);
    return id && action && fields?.pair_key && { id, action, fields };
  } catch {
    return null; // not of this file, or cut off
  }
}

inStorage((storage) => {
  for (const name of Object.keys(storage).filter((one) => one.startsWith(PREFIX))) {
    const entry = read(storage.getItem(name));
    if (entry) memory.set(name, entry);
    else storage.removeItem(name);
  }
});

/** Take up the HIT that has come. */
function begin() {
  leaving = false;
  wanted = unsent = "";
  duties.clear();
  pause = 1000;
  separate(document);
  hit = byId("hit")?.dataset ?? hit;
  // Choices made before this script was loaded have not been sent.
  for (const form of document.querySelectorAll("form[data-pair]:not([data-second])")) {
    const chosen = form.querySelector("input[name=choice]:checked");
    if (chosen && !chosen.defaultChecked && !memory.has(keyOf(form))) note(form);
  }
  for (const key of here()) {
    restore(formOf(key), memory.get(key));
    sayWaiting(formOf(key));
  }
  paint();
}

/** Call `start` now, and whenever a HIT has taken the place of another. */
export function onHit(start) {
  start();
  document.addEventListener("htmx:load", ({ target }) => target.id === "main" && start());
}

onHit(begin);
const sendAll = () => memory.size && flush();
addEventListener("load", sendAll);
setInterval(sendAll, LONGEST_PAUSE); // in case its timer was lost
