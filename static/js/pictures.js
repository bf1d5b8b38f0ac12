// A print has all pictures of what is open: those that are not in sight yet are loaded one after another, and in the dark
// also the light ones, which are printed.

const printed = []; // kept, or the browser would ask for them again

function loaded(image) {
  return new Promise((done) => {
    if (image.complete) return done();
    for (const end of ["load", "error"]) image.addEventListener(end, done, { once: true });
  });
}

async function loadOpen() {
  for (const image of document.querySelectorAll('img[loading="lazy"]')) {
    if (image.closest("details:not([open])")) continue;
    image.loading = "eager";
    await loaded(image);
    if (!image.currentSrc.includes("theme=dark")) continue;
    const light = new Image();
    light.src = image.currentSrc.replace("theme=dark", "theme=light");
    printed.push(light);
    await loaded(light);
  }
}

document.addEventListener("toggle", loadOpen, true);
if (document.readyState === "complete") loadOpen();
else addEventListener("load", loadOpen);
