// Forms that come again with an estimate when something in them changes. What is typed meanwhile must not get lost: the
// answer is dropped then, and the change to come asks anew.

const same = (sent, form) => {
  const now = new FormData(form);
  return [...new Set(now.keys())].every((name) => {
    const [before, after] = [sent.getAll(name), now.getAll(name)];
    return before.length === after.length && after.every((value, place) => value instanceof File || value === before[place]);
  });
};

document.addEventListener("htmx:beforeSwap", (event) => {
  const { elt: form, formData } = event.detail.requestConfig ?? {};
  if (!(form instanceof HTMLFormElement) || form.getAttribute("hx-trigger") !== "change") return;
  if (!form.isConnected || !same(formData, form)) event.detail.shouldSwap = false;
});
