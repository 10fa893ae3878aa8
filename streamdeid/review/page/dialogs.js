// One dialog for all questions, and the table of keys.

const dialog = document.getElementById("dialog");
const agree = document.getElementById("agree");
const choices = document.getElementById("choices");
let answered = null;

// What was chosen, or null. choices: [value, text] pairs; key: one that agrees beside the button. Where `careful`, Enter
// on a choice does not agree: leaving somebody visible wants the button or its key.
export function ask({ title, text, options = [], button, key = "Enter", careful = false }) {
  document.getElementById("dialog-title").textContent = title;
  document.getElementById("dialog-text").textContent = text;
  agree.replaceChildren(`${button} `, Object.assign(document.createElement("kbd"), { textContent: key.toUpperCase() === "ENTER" ? "Enter" : key.toUpperCase() }));
  agree.className = careful ? "danger" : "main";
  dialog.dataset.key = key;
  choices.hidden = !options.length;
  choices.replaceChildren(choices.firstElementChild, ...options.map(([value, words], number) => {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "choice", value, checked: !number });
    label.append(input, ` ${words}`);
    return label;
  }));
  dialog.showModal();
  (choices.querySelector("input") || document.getElementById("cancel")).focus();
  return new Promise((done) => { answered = done; });
}

function close(value) {
  const done = answered;
  answered = null;
  dialog.close();
  if (done) done(value);
}

const chosen = () => choices.querySelector("input:checked")?.value ?? "yes";

agree.addEventListener("click", () => close(chosen()));
document.getElementById("cancel").addEventListener("click", () => close(null));
dialog.addEventListener("cancel", (event) => { event.preventDefault(); close(null); });
dialog.addEventListener("keydown", (event) => {
  event.stopPropagation();
  if (event.key === "Escape") { event.preventDefault(); close(null); }
  if (event.target.tagName === "BUTTON" && event.key === "Enter") return;
  if (event.key.toLowerCase() === dialog.dataset.key.toLowerCase() && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    close(chosen());
  }
});

export const KEYS = [
  ["Look", [
    ["Space", "play, pause"],
    ["← →", "one frame"],
    ["Shift ← →", "one second"],
    ["Home End", "first, last frame"],
    ["J K", "next, previous thing to look at"],
    ["Enter", "looked at, and to the next"],
    ["Shift Enter", "not looked at after all"],
    ["Tab", "next redaction in the picture"],
    ["O", "hold: the original"],
    ["W", "snapshot of the filtered picture"],
    ["+ − 0", "timeline larger, smaller, whole"],
  ]],
  ["Mend", [
    ["U", "leave a person visible (asks)"],
    ["C", "cover a person again"],
    ["R", "remove a false redaction"],
    ["B", "draw a box, followed to both sides"],
    ["E", "adjust a drawn place in this frame"],
    ["G", "cover a fixed region"],
    ["M", "same person as another"],
    ["P", "another person from here on"],
    ["S", "another surrogate face"],
    ["[ ]", "mark first, last frame of a stretch"],
    ["Z Y", "undo, redo"],
  ]],
  ["While drawing", [
    ["← → ↑ ↓", "move the box"],
    ["Shift arrows", "change its size"],
    ["Alt", "with arrows: one pixel"],
    ["Enter", "done"],
    ["Esc", "leave it"],
  ]],
];

const table = document.getElementById("keys");

export function showKeys() {
  document.getElementById("key-table").replaceChildren(...KEYS.map(([name, keys]) => {
    const part = document.createElement("section");
    const head = Object.assign(document.createElement("h3"), { textContent: name });
    const list = document.createElement("dl");
    for (const [key, what] of keys) {
      const row = document.createElement("div");
      const names = document.createElement("dt");
      names.append(...key.split(" ").map((one) => Object.assign(document.createElement("kbd"), { textContent: one })));
      row.append(names, Object.assign(document.createElement("dd"), { textContent: what }));
      list.append(row);
    }
    part.append(head, list);
    return part;
  }));
  table.showModal();
}

table.addEventListener("keydown", (event) => event.stopPropagation());
document.getElementById("keys-close").addEventListener("click", () => table.close());

export const dialogOpen = () => dialog.open || table.open;
