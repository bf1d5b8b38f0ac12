// Forms that are reloaded with an estimate when a field changes. When the form has changed since the request, its
// response is dropped, so that no input is lost; the later change sends another request.

const same = (sent, form) => {
  const now = new FormData(form);
  return [...new Set(now.keys())].every((name) => {
    const [before, after] = [sent.getAll(name), now.getAll(name)];
    return before.length === after.length && after.every((value, place) => value instanceof File || value === before[place]);
  });
};

document.addEventListener("htmx:beforeSwap", (event) => {
  const { elt: form, formData } = event.detail.requestConfig ?? {};
  if (!(form instanceof HTMLFormElement) || !form.getAttribute("hx-trigger")?.endsWith("change")) return;
  if (!form.isConnected || !same(formData, form)) event.detail.shouldSwap = false;
});
