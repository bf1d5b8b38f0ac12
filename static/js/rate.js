// Tells the rater whether a choice has reached the server. Without this file the page still works: htmx saves the
// choices, and without htmx the forms do.
(function () {
  "use strict";

  function say(form, text, failed) {
    const line = form.querySelector(".saved");
    form.classList.remove("rated");
    line.textContent = text;
    line.classList.toggle("error", failed);
  }

  function pairOf(event) {
    return event.target.closest("form[data-pair]");
  }

  document.addEventListener("htmx:beforeRequest", function (event) {
    const form = pairOf(event);
    if (form) say(form, "Saving…", false);
  });

  // The network is away, the server does not answer in time, or it answers with something that is not put into the page.
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, function (event) {
      const form = pairOf(event);
      if (form) say(form, "Not saved: the server could not be reached. Please choose again in a moment.", true);
    });
  }
  document.addEventListener("htmx:responseError", function (event) {
    const form = pairOf(event);
    const shown = [404, 409, 422].includes(event.detail.xhr.status);
    if (form && !shown) say(form, "Not saved: please load the page again, sign in if asked, and choose again.", true);
  });
})();
