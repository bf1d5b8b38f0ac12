// A search above folded settings: only fields that contain the text stay, in open groups. Without this script all are listed.

const input = document.querySelector("[data-find-setting]");
const groups = [...document.querySelectorAll("#settings > details")].map((group) => ({ group, wasOpen: group.open }));

const contains = (element, text) => element.textContent.toLowerCase().includes(text);

function find() {
  const text = input.value.trim().toLowerCase();
  for (const { group, wasOpen } of groups) {
    const isAbout = contains(group.querySelector("summary"), text);
    const fields = [...group.querySelectorAll(":scope > [data-field]")];
    for (const field of fields) field.hidden = !isAbout && !contains(field, text);
    group.hidden = fields.every((field) => field.hidden);
    group.open = text ? !group.hidden : wasOpen;
  }
  document.querySelector("[data-no-setting]").hidden = groups.some(({ group }) => !group.hidden);
}

if (input) {
  input.hidden = false;
  input.addEventListener("input", find);
}
