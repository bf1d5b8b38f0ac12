// Long tables can be searched, and a link to something folded opens it.

const FEW = 10; // rows that are seen at a glance
const typed = new Map(); // by table: what was looked for, to be kept when a part of the page is reloaded

function show(input) {
  const rows = [...document.querySelectorAll(`#${input.dataset.search} > tbody > tr`)];
  input.hidden = rows.length <= FEW;
  const wanted = input.value.trim().toLowerCase();
  for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
}

function begin() {
  for (const input of document.querySelectorAll("[data-search]")) {
    input.value = typed.get(input.dataset.search) ?? "";
    show(input);
  }
}

function unfold() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  if (target) target.scrollIntoView();
}

document.addEventListener("input", ({ target }) => {
  if (!target.dataset.search) return;
  typed.set(target.dataset.search, target.value);
  show(target);
});
document.addEventListener("htmx:afterSettle", begin);
addEventListener("hashchange", unfold);
begin();
unfold();
