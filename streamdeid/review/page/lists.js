// The lists at the side: what to look at first, people, edits; and the names of the timeline's rows.

import { picture } from "./asking.js";

const make = (tag, name, text) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
};

export function showDoubts(state, current, go, time) {
  const list = document.getElementById("doubts");
  const key = `${state.recording}/${state.doubts.length}`;
  if (list.dataset.key !== key) {
    list.dataset.key = key;
    const worst = Math.max(1e-6, ...state.doubts.map((one) => one.severity));
    list.replaceChildren(...state.doubts.map((doubt, number) => {
      const item = make("li");
      const button = make("button", "doubt");
      button.type = "button";
      button.dataset.id = doubt.id;
      const text = make("span", "doubt-text");
      text.append(make("b", "", doubt.kind), make("span", "why", doubt.why));
      const side = make("span", "doubt-side");
      const bar = make("span", "severity");
      bar.append(make("i"));
      bar.firstChild.style.width = `${Math.round(100 * Math.max(0.04, Math.min(1, doubt.severity / worst)))}%`;
      side.append(make("span", "when", time(doubt.first)), bar);
      button.append(make("span", "tick"), text, side);
      button.addEventListener("click", () => go(number));
      item.append(button);
      return item;
    }));
    if (!state.doubts.length) list.replaceChildren(make("li", "none", "Nothing is in doubt."));
  }
  for (const button of list.querySelectorAll("button")) {
    const number = [...list.children].indexOf(button.parentNode);
    const doubt = state.doubts[number];
    const now = doubt.id === current;
    button.classList.toggle("looked", doubt.looked);
    if (now) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
    button.setAttribute("aria-label", `${number + 1}: ${doubt.kind}. ${doubt.why} At ${time(doubt.first)}.${doubt.looked ? " Looked at." : ""}`);
  }
  const chosen = list.querySelector("[aria-current]");
  if (chosen && list.dataset.current !== current) chosen.scrollIntoView({ block: "nearest" });
  list.dataset.current = current ?? "";
  const looked = state.doubts.filter((one) => one.looked).length;
  const bar = document.getElementById("looked");
  bar.max = Math.max(1, state.doubts.length);
  bar.value = state.doubts.length ? looked : 1;
  document.getElementById("looked-text").textContent = `${looked} of ${state.doubts.length} looked at`;
}

function thumbnail(person, version) {
  const image = make("img");
  image.alt = "";
  image.width = image.height = 40;
  image.dataset.path = `/person/${person}.jpg?v=${version}`;
  image.addEventListener("load", () => URL.revokeObjectURL(image.src));
  image.addEventListener("error", () => { URL.revokeObjectURL(image.src); image.removeAttribute("src"); });
  sight.observe(image);
  return image;
}

// Those in sight, or nearly, are asked for.
const sight = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    sight.unobserve(target);
    picture(target.dataset.path).then((address) => { target.src = address; }, () => {});
  }
}, { rootMargin: "200px" });

export function showPeople(state, chosen, choose) {
  const list = document.getElementById("people");
  const key = JSON.stringify(state.people.map((one) => [one.person, one.surrogates, one.visible, one.kept, one.frames]));
  document.getElementById("people-count").textContent = `${state.people.length}`;
  if (list.dataset.key !== key) {
    list.dataset.key = key;
    for (const image of list.querySelectorAll("img")) sight.unobserve(image);
    list.replaceChildren(...state.people.map((one) => {
      const item = make("li");
      const button = make("button", "person");
      button.type = "button";
      button.dataset.person = one.person;
      const text = make("span", "person-text");
      const share = Math.round((100 * one.frames) / state.frames);
      text.append(make("b", "", `Person ${one.person}`), make("span", "", `in ${share || "under 1"} % of the frames`));
      const what = [];
      if (one.visible) what.push(make("span", "badge open", `visible in ${one.visible} frames`));
      if (one.kept) what.push(make("span", "badge", `still covered in ${one.kept}`));
      if (one.surrogates) what.push(make("span", "badge", "another face"));
      text.append(...what);
      button.append(thumbnail(one.person, state.version), text);
      button.addEventListener("click", () => choose(one.person));
      item.append(button);
      return item;
    }));
    if (!state.people.length) list.replaceChildren(make("li", "none", "Nobody is known in this recording."));
  }
  for (const button of list.querySelectorAll("button")) {
    const now = Number(button.dataset.person) === chosen;
    if (now && button.getAttribute("aria-pressed") !== "true") button.scrollIntoView({ block: "nearest" });
    button.setAttribute("aria-pressed", String(now));
  }
}

export function showEdits(state) {
  const list = document.getElementById("edits");
  list.replaceChildren(...state.edits.map((text, at) => {
    const item = make("li", at < state.rendered ? "rendered" : "", text);
    if (at < state.rendered) item.append(make("span", "badge", "in the output"));
    return item;
  }).reverse());
  list.reversed = true;
  document.getElementById("edit-count").textContent = state.edits.length ? `${state.edits.length}` : "none yet";
  for (const name of ["undo", "redo"]) {
    const button = document.getElementById(name);
    button.disabled = !state[name];
    button.title = state[name] ? `${name === "undo" ? "Undo" : "Redo"}: ${state[name]}` : "";
  }
}

export function showRowNames(rows) {
  document.getElementById("row-names").replaceChildren(...rows.map((row) => {
    const item = make("li", row.person ? "" : "plain", row.name);
    return item;
  }));
}

export function showLegend(state, rows) {
  const there = new Set();
  for (const row of rows) for (let i = 2; i < row.runs.length; i += 3) there.add(row.runs[i]);
  const usual = [1, 2, 3];
  const list = document.getElementById("legend");
  list.replaceChildren(...state.states.map((name, at) => [name, at]).filter(([, at]) => there.has(at) || usual.includes(at)).map(([name, at]) => {
    const item = make("li");
    const colour = make("i", at >= state.states.length - 3 ? "hatched" : "");
    colour.dataset.state = at;
    item.append(colour, name);
    return item;
  }), ...[["cut", "cut"], ["to-look", "to look at"]].map(([kind, text]) => {
    const item = make("li");
    item.append(make("i", kind), text);
    return item;
  }));
}
