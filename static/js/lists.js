// Tables are sorted by a click on a heading, long ones are filtered, and a link to something folded opens it.

const FEW = 20; // rows that are seen at a glance
const texts = new Map(); // by table: the filter's text, for when a part of the page is reloaded
const orders = new Map(); // by table: the column that it is sorted by, and the direction
const inOrder = new Intl.Collator(undefined, { numeric: true });

const rowsOf = (table) => [...table.tBodies].flatMap((body) => [...body.rows]);

function filter(table, text) {
  for (const row of rowsOf(table)) row.hidden = !row.textContent.toLowerCase().includes(text.trim().toLowerCase());
}

function textOf(cell) {
  return cell?.querySelector("time")?.dateTime || cell?.textContent.trim() || "";
}

// The number that a cell begins with; NaN without one.
function numberOf(cell) {
  return parseFloat(cell?.dataset.value ?? textOf(cell).replace("\u2212", "-").replace(/^[^\d.-]+|,(?=\d{3})/g, ""));
}

// Cells without a value come last in both directions; equal ones stay in their order.
function sort(table, { column, ascending }) {
  const rows = rowsOf(table);
  const cells = new Map(rows.map((row) => [row, row.cells[column]]));
  const isNumeric = table.tHead.rows[0].cells[column].matches(".num") || rows.some((row) => cells.get(row)?.dataset.value);
  const isMissing = (row) => (isNumeric ? Number.isNaN(numberOf(cells.get(row))) : /^[—–]?$/.test(textOf(cells.get(row))));
  const compare = (one, other) =>
    isNumeric ? numberOf(cells.get(one)) - numberOf(cells.get(other)) : inOrder.compare(textOf(cells.get(one)), textOf(cells.get(other)));
  rows.sort((one, other) =>
    isMissing(one) || isMissing(other) ? isMissing(one) - isMissing(other) : compare(one, other) * (ascending ? 1 : -1),
  );
  table.tBodies[0].append(...rows);
  for (const [index, heading] of [...table.tHead.rows[0].cells].entries()) {
    if (index === column) heading.ariaSort = ascending ? "ascending" : "descending";
    else heading.removeAttribute("aria-sort");
  }
}

// Rows below each other on a phone have no head to click on.
function offerSorting(table, key) {
  const isPlain = table.tHead?.rows.length === 1 && table.tBodies.length === 1 && !table.querySelector("[rowspan], [colspan]");
  if (!isPlain || rowsOf(table).length < 2 || table.tHead.offsetHeight < 2) return;
  for (const [column, heading] of [...table.tHead.rows[0].cells].entries()) {
    if (!heading.textContent.trim() || heading.querySelector("a, button, input")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => {
      const current = heading.ariaSort;
      const order = { column, ascending: current ? current === "descending" : !heading.matches(".num") };
      orders.set(key, order);
      sort(table, order);
    });
    heading.append(button);
  }
}

function offerFilter(table, key) {
  const field = document.getElementById("search-in-table")?.content.firstElementChild;
  if (!field || rowsOf(table).length <= FEW || table.parentElement.previousElementSibling?.matches("[data-search]")) return;
  const input = field.cloneNode(true);
  input.value = texts.get(key) ?? "";
  input.addEventListener("input", () => {
    texts.set(key, input.value);
    filter(table, input.value);
  });
  table.parentElement.before(input);
}

// A table that the server divides into pages, or whose rows and columns are the same things, is neither sorted nor filtered.
function begin() {
  for (const [index, table] of document.querySelectorAll("main .scroll > table:not(.matrix)").entries()) {
    const scroll = table.parentElement;
    const scrolls = scroll.scrollHeight > scroll.clientHeight || scroll.scrollWidth > scroll.clientWidth;
    if (scrolls && !scroll.hasAttribute("tabindex")) scroll.tabIndex = 0;
    if (scroll.nextElementSibling?.matches("nav")) continue;
    const key = table.id || index;
    offerSorting(table, key);
    offerFilter(table, key);
    if (orders.has(key)) sort(table, orders.get(key));
    if (texts.get(key)) filter(table, texts.get(key));
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
