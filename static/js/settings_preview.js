// The rater's page beside a form of settings, shown again while these change. Without this script the button shows it.

const frame = document.querySelector("iframe[data-live]");
const button = document.querySelector("button[formtarget=settings-preview]");

if (frame && button) {
  const { form } = button;
  let waiting, asked;
  const show = async () => {
    asked?.abort();
    asked = new AbortController();
    try {
      const answer = await fetch(button.formAction, { method: "POST", body: new FormData(form), signal: asked.signal });
      if (!answer.ok) return;
      const page = await answer.text();
      const top = frame.contentWindow.scrollY;
      frame.addEventListener("load", () => frame.contentWindow.scrollTo(0, top), { once: true });
      frame.srcdoc = page;
    } catch {
      // No network, or a later change: the page that is there stays.
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 300);
  });
  show();
}
