// Requests of the API sent from its page, with a token or in the session of the browser.

const LONGEST = 20000; // characters of an answer that are shown
const token = document.querySelector("#api-token");
const template = document.querySelector("#api-request");

function field(name) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  input.name = name;
  input.spellcheck = false;
  label.append(name, input);
  return label;
}

function prepare(operation) {
  if (!operation.dataset.path || operation.querySelector(".api-request")) return;
  const form = template.content.cloneNode(true).firstElementChild;
  const named = operation.querySelectorAll(":scope > [data-parameters] [data-parameter]");
  form.querySelector("[data-parameters]").append(...[...named].map((one) => field(one.dataset.parameter)));
  const body = form.querySelector("[data-body]");
  if (operation.dataset.sample) body.querySelector("textarea").value = operation.dataset.sample;
  else body.remove();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(operation, form);
  });
  operation.querySelector(":scope > p").after(form);
}

function addressed(operation, form) {
  let path = operation.dataset.path;
  const query = new URLSearchParams();
  const headers = {};
  for (const { name, value } of form.querySelectorAll("[data-parameters] input")) {
    if (path.includes(`{${name}}`)) path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (!value) continue;
    else if (name === "Idempotency-Key") headers[name] = value;
    else query.append(name, value);
  }
  return [query.size ? `${path}?${query}` : path, headers];
}

async function send(operation, form) {
  const status = form.querySelector("[role=status]");
  const shown = form.querySelector("pre");
  const [address, headers] = addressed(operation, form);
  const key = token.querySelector("[type=password]").value.trim();
  if (key) headers.Authorization = `Token ${key}`;
  else headers["X-CSRFToken"] = token.querySelector("[name=csrfmiddlewaretoken]").value;
  const body = form.querySelector("textarea")?.value;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  status.textContent = status.dataset.waiting;
  shown.hidden = true;
  try {
    const credentials = key ? "omit" : "same-origin";
    const answer = await fetch(address, { method: operation.dataset.method, headers, body, credentials });
    const kind = answer.headers.get("Content-Type") ?? "";
    status.textContent = `${answer.status} ${answer.statusText}`;
    if (/zip|parquet/.test(kind)) status.textContent += `. ${status.dataset.binary}`;
    else show(shown, await answer.text(), kind);
  } catch {
    status.textContent = status.dataset.failed;
  }
}

function show(shown, text, kind) {
  const readable = kind.includes("json") && text ? JSON.stringify(JSON.parse(text), null, 2) : text;
  shown.textContent = readable.length > LONGEST ? `${readable.slice(0, LONGEST)} …` : readable;
  shown.hidden = !readable;
}

token.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("toggle", ({ target }) => target.open && prepare(target), true);
for (const open of document.querySelectorAll("details.api-operation[open]")) prepare(open);
