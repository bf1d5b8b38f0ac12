// Long tables can be searched, and a link to something folded opens it.

const FEW = 10; // rows that are seen at a glance
const typed = new Map(); // by table: what was looked for, to be kept when a part of the page is reloaded

const rowsOf = (table) => [...table.tBodies].flatMap((body) => [...body.rows]);

function show(table, wanted) {
  for (const row of rowsOf(table)) row.hidden = !row.textContent.toLowerCase().includes(wanted.trim().toLowerCase());
}

// A table that the server divides into pages, or whose rows and columns are the same things, is not searched.
function begin() {
  const field = document.getElementById("search-in-table")?.content.firstElementChild;
  for (const [place, table] of document.querySelectorAll("main .scroll > table:not(.matrix)").entries()) {
    const scroll = table.parentElement;
    const scrolls = scroll.scrollHeight > scroll.clientHeight || scroll.scrollWidth > scroll.clientWidth;
    if (scrolls && !scroll.hasAttribute("tabindex")) scroll.tabIndex = 0;
    if (!field || rowsOf(table).length <= FEW || scroll.nextElementSibling?.matches("nav")) continue;
    if (scroll.previousElementSibling?.matches("[data-search]")) continue;
    const input = field.cloneNode(true);
    const key = table.id || place;
    input.value = typed.get(key) ?? "";
    input.addEventListener("input", () => {
      typed.set(key, input.value);
      show(table, input.value);
    });
    scroll.before(input);
    if (input.value) show(table, input.value);
  }
}

function unfold() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  if (target) target.scrollIntoView();
}

document.addEventListener("htmx:afterSettle", begin);
document.addEventListener("toggle", begin, true); // whether a table in a fold is larger than its place shows when it opens
addEventListener("hashchange", unfold);
begin();
unfold();
