// Elements with data-poll reload themselves, but not while the page is hidden.

const polled = (event) => event.detail.elt.matches?.("[data-poll]");
const scrolled = new Map();

document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && polled(event)) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  for (const part of document.querySelectorAll("[data-poll]")) window.htmx.trigger(part, "wake");
});

// A table that was scrolled sideways stays where it was.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (!polled(event)) return;
  const boxes = [...event.detail.elt.querySelectorAll(".scroll")];
  scrolled.set(event.detail.elt.id, boxes.map((box) => box.scrollLeft));
});
document.addEventListener("htmx:afterSettle", () => {
  for (const [id, places] of scrolled) {
    const boxes = document.querySelectorAll(`#${id} .scroll`);
    boxes.forEach((box, index) => { box.scrollLeft = places[index] ?? 0; });
  }
  scrolled.clear();
});
