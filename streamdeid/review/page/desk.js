// The desk: which frame shows, what is chosen, and what each key does.

import { forget, get, leave, pause, picture, post } from "./asking.js";
import { ask, dialogOpen, showKeys } from "./dialogs.js";
import * as lists from "./lists.js";
import * as stage from "./stage.js";
import * as timeline from "./timeline.js";

const CHUNK = 120; // frames whose places are asked for at a time
const element = (id) => document.getElementById(id);
const screen = element("screen");

let state = null;
let frame = 0;
let chosen = null; // id of a redaction or a drawn place: "track 3", "place 1"
let person = null; // chosen in the list of people
let doubt = null; // number in the list
let marks = [null, null];
let playing = null;
let work = null; // what is being drawn
let chunks = new Map();

// ---- words

function clock(seconds) {
  const minutes = Math.floor(seconds / 60);
  const rest = (seconds - 60 * minutes).toFixed(2).padStart(5, "0");
  return `${minutes}:${rest}`;
}

const timeOf = (number) => clock(number / (state.rate || 25));

function say(text) { element("wrong").textContent = ""; element("said").textContent = text; }
function complain(error) { element("said").textContent = ""; element("wrong").textContent = String(error.message || error); }

// ---- state

function rowsOf() {
  const people = state.people.map((one) => ({ person: one.person, name: `Person ${one.person}`, runs: one.runs }));
  const rest = [{ person: 0, name: "Nobody known", runs: state.nobody }];
  return [...people, ...rest, ...state.by_hand.map((one) => ({ person: -1, name: one.name, runs: one.runs }))];
}

function take(next) {
  const changed = !state || next.version !== state.version;
  state = next;
  if (changed) chunks = new Map();
  const rows = rowsOf();
  timeline.setState(state, rows);
  lists.showRowNames(rows);
  lists.showLegend(state, rows);
  lists.showEdits(state);
  showLists();
  element("recording").textContent = state.recording;
  element("saved").textContent = `edits are kept in ${state.edits_file}`;
  element("adjust").disabled = !state.by_hand.some((one) => one.number);
}

function showLists() {
  lists.showDoubts(state, doubt === null ? null : state.doubts[doubt].id, goToDoubt, timeOf);
  lists.showPeople(state, personChosen(), choosePerson);
}

async function open() {
  for (;;) {
    let told;
    try {
      told = await get("/state");
    } catch (error) {
      if (error.stranger) { element("opening").textContent = error.message; return; }
      complain(error);
      await pause(1000);
      continue;
    }
    if (!told.opening) { take(told); break; }
    if (told.failed) { element("opening").textContent = told.failed; return; }
    await pause(200);
  }
  element("opening").hidden = true;
  stage.setSize(state.width, state.height);
  element("of").textContent = ` / ${clock(state.duration)}`;
  await go(0);
  say("");
  document.body.dataset.ready = "yes";
}

async function change(path, asked) {
  try {
    const told = await post(path, asked);
    take(told.state);
    say(told.said);
    await go(frame);
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

// ---- frames

async function placesOf(number) {
  const first = Math.floor(number / CHUNK) * CHUNK;
  if (!chunks.has(first)) {
    const version = state.version;
    const asked = get(`/places?first=${first}&count=${CHUNK}`).then((told) => {
      if (told.version !== version) chunks.delete(first);
      return told.frames;
    });
    asked.catch(() => chunks.delete(first));
    chunks.set(first, asked);
    if (chunks.size > 30) chunks.delete(chunks.keys().next().value);
  }
  return (await chunks.get(first))[number - first];
}

async function go(number) {
  frame = Math.max(0, Math.min(state.frames - 1, number));
  const asked = frame;
  if (stage.holding()) stage.hold(frame);
  showPlace();
  await Promise.all([stage.load(frame, state.version, shown), showFrame(asked)]);
}

function shown(number) {
  document.body.dataset.shown = number;
}

function showPlace() {
  element("count").textContent = `frame ${frame} of ${state.frames - 1}`;
  timeline.setFrame(frame, `frame ${frame}, ${timeOf(frame)}`);
}

let here = { places: [], by_hand: [], regions: [], time: 0 };

async function showFrame(number) {
  try {
    const told = await placesOf(number);
    if (number !== frame || !told) return;
    here = told;
  } catch (error) {
    complain(error);
    return;
  }
  element("time").textContent = clock(here.time);
  drawBoxes();
}

function nameOf(place) {
  return place.person ? `Person ${place.person}` : "Nobody known";
}

function boxesHere() {
  const tracks = here.places.filter((one) => one.track).map((one) => one.track);
  const redactions = here.places.filter((one) => one.track).map((one, at) => ({
    id: `track ${one.track}${tracks.indexOf(one.track) < at ? ` again ${at}` : ""}`,  // a track may have two places
    state: one.state,
    box: one.box,
    short: one.person ? `${one.person}` : "?",
    label: `${nameOf(one)}, ${state.states[one.state]}, track ${one.track}`,
  }));
  const last = state.states.length - 1;
  const drawn = here.by_hand.map(([number, box]) => ({
    id: `place ${number}`, state: last, box, short: `place ${number}`, label: `Place ${number}, covered by hand`,
  }));
  const regions = here.regions.map((box, at) => ({
    id: `region ${at + 1}`, state: last, box, short: "region", label: `Region ${at + 1}, filled`,
  }));
  return [...redactions, ...drawn, ...regions];
}

function drawBoxes() {
  stage.showBoxes(boxesHere(), chosen, choose);
  const one = doubt === null ? null : state.doubts[doubt];
  stage.showDoubt(one && one.first <= frame && frame <= one.last ? one.box : null);
  describe();
}

const placeChosen = () => here.places.find((one) => chosen && `track ${one.track}` === chosen.split(" again")[0]);

function personChosen() {
  const place = placeChosen();
  return place ? place.person || null : person;
}

function describe() {
  const place = placeChosen();
  const text = element("chosen-text");
  if (place) {
    const kept = place.kept ? " · stays covered here: somebody else is too near" : "";
    const cause = place.cause ? ` (${place.cause})` : "";
    text.replaceChildren(Object.assign(document.createElement("b"), { textContent: nameOf(place) }), ` ${state.states[place.state]}${cause} · track ${place.track}${kept}`);
  } else if (chosen && boxesHere().some((one) => one.id === chosen)) {
    text.replaceChildren(Object.assign(document.createElement("b"), { textContent: boxesHere().find((one) => one.id === chosen).label }));
  } else if (person) {
    text.replaceChildren(Object.assign(document.createElement("b"), { textContent: `Person ${person}` }), " chosen");
  } else {
    text.innerHTML = "";
    text.append("Nothing is chosen. ", Object.assign(document.createElement("kbd"), { textContent: "Tab" }), " goes through the redactions of this frame.");
  }
  for (const button of element("chosen").querySelectorAll("button")) {
    button.disabled = button.dataset.key === "r" ? !place : !personChosen();
  }
}

function choose(id) {
  if (chosen === id) return;
  chosen = id;
  person = null;
  drawBoxes();
  lists.showPeople(state, personChosen(), choosePerson);
  const box = boxesHere().find((one) => one.id === id);
  if (box) say(`${box.label} chosen.`);
}

function choosePerson(number) {
  person = number;
  const there = here.places.find((one) => one.person === number);
  chosen = there ? `track ${there.track}` : null;
  drawBoxes();
  lists.showPeople(state, personChosen(), choosePerson);
  say(`Person ${number} chosen.${there ? "" : " Not in this frame."}`);
}

// ---- what to look at

async function goToDoubt(number) {
  if (!state.doubts.length) return;
  stop();
  doubt = Math.max(0, Math.min(state.doubts.length - 1, number));
  const one = state.doubts[doubt];
  timeline.setCurrent(one.id);
  person = null;
  chosen = one.track ? `track ${one.track}` : null;
  const at = doubt;
  await go(Math.floor((one.first + one.last) / 2));
  if (doubt !== at) return;
  if (chosen) stage.focusBox(chosen); else screen.focus();
  showLists();
  say(`${at + 1} of ${state.doubts.length}: ${one.kind}. ${one.why}`);
}

async function accept(looked) {
  if (doubt === null) return goToDoubt(0);
  const one = state.doubts[doubt];
  if (!(await change("/looked", { id: one.id, looked })) || !looked) return null;
  const after = [...state.doubts.keys()].map((step) => (doubt + 1 + step) % state.doubts.length);
  const next = after.find((number) => !state.doubts[number].looked);
  if (next === undefined) return say("All of it was looked at.");
  return goToDoubt(next);
}

// ---- playing

function stop() {
  if (!playing) return;
  playing = null;
  element("play").setAttribute("aria-label", "Play");
  document.body.classList.remove("playing");
}

function play() {
  if (playing) { stop(); say("Paused."); return; }
  if (frame >= state.frames - 1) frame = 0;
  const began = { at: performance.now(), frame };
  playing = began;
  element("play").setAttribute("aria-label", "Pause");
  document.body.classList.add("playing");
  const step = () => {
    if (playing !== began) return;
    const next = began.frame + Math.floor(((performance.now() - began.at) / 1000) * state.rate);
    if (next >= state.frames) { go(state.frames - 1); stop(); return; }
    if (next !== frame && !stage.busy()) go(next);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

// ---- edits

function sceneHere() {
  const first = Math.max(0, ...state.cuts.filter((cut) => cut <= frame));
  const next = state.cuts.find((cut) => cut > frame);
  return [first, next === undefined ? state.frames - 1 : next - 1];
}

function spans(track) {
  const options = [];
  if (marks[0] !== null || marks[1] !== null) options.push(["marked", `the marked stretch, frames ${marks[0] ?? 0} to ${marks[1] ?? state.frames - 1}`]);
  options.push(["all", track ? "everywhere in this track" : "in the whole recording"]);
  if (track) options.push(["one", `in this frame only (${frame})`]);
  const [first, last] = sceneHere();
  if (state.cuts.length) options.push(["scene", `in this scene, frames ${first} to ${last}`]);
  if (frame > 0) options.push(["from", `from this frame (${frame}) to the end`], ["until", `up to this frame (${frame})`]);
  return options;
}

function spanOf(choice) {
  const [first, last] = sceneHere();
  return {
    marked: { first: marks[0] ?? 0, last: marks[1] },
    all: { first: 0, last: null },
    one: { first: frame, last: frame },
    scene: { first, last },
    from: { first: frame, last: null },
    until: { first: 0, last: frame },
  }[choice];
}

function needPerson() {
  const number = personChosen();
  if (!number) say("Choose a person first: Tab in the picture, or in the list of people.");
  return number;
}

async function showPerson() {
  const number = needPerson();
  if (!number) return;
  const choice = await ask({
    title: `Leave person ${number} visible?`,
    text: "Their real face will be in the published video. Where somebody else is too near, both stay covered.",
    options: spans(false), button: "Leave visible", key: "y", careful: true,
  });
  if (choice) await change("/edit", { do: "show", person: number, ...spanOf(choice), confirmed: true });
}

async function coverPerson() {
  const number = needPerson();
  if (!number) return;
  const choice = await ask({
    title: `Cover person ${number}`, text: "Their surrogate face is shown again.", options: spans(false), button: "Cover",
  });
  if (choice) await change("/edit", { do: "cover", person: number, ...spanOf(choice) });
}

async function removeRedaction() {
  const place = placeChosen();
  if (!place) { say("Choose a redaction first: Tab in the picture."); return; }
  const choice = await ask({
    title: `Remove the redaction of track ${place.track}?`,
    text: "For what is no face at all. What is there will be visible in the published video.",
    options: spans(true), button: "Remove", key: "y", careful: true,
  });
  if (choice) await change("/edit", { do: "remove", track: place.track, ...spanOf(choice) });
}

async function joinPersons() {
  const number = needPerson();
  if (!number) return;
  const others = state.people.filter((one) => one.person !== number);
  if (!others.length) { say("There is nobody else."); return; }
  const other = await ask({
    title: `Person ${number} is the same as…`, text: "Both get one surrogate face.",
    options: others.map((one) => [String(one.person), `Person ${one.person}`]), button: "Join",
  });
  if (!other) return;
  const pair = state.people.filter((one) => [number, Number(other)].includes(one.person));
  const open = pair.some((one) => one.visible || one.kept);
  if (open && !await ask({
    title: `Leave persons ${pair.map((one) => one.person).join(" and ")} visible?`,
    text: "One of them is left visible; as one person both are. Their real face will be in the published video.",
    button: "Join", key: "y", careful: true,
  })) return;
  await change("/edit", { do: "join", person: Math.min(number, Number(other)), other: Math.max(number, Number(other)), confirmed: open });
}

async function partPerson() {
  const number = needPerson();
  if (!number) return;
  const choice = await ask({
    title: `Somebody else from frame ${frame} on?`,
    text: `Tracks of person ${number} that begin here or later become person ${state.new_person}, with another surrogate face.`,
    button: "Part",
  });
  if (choice) await change("/edit", { do: "part", person: number, first: frame, new: state.new_person });
}

async function anotherSurrogate() {
  const number = needPerson();
  if (number) await change("/edit", { do: "another surrogate", person: number });
}

// ---- drawing

function startBox() {
  const one = doubt === null ? null : state.doubts[doubt];
  if (one && one.box && one.first <= frame && frame <= one.last) return one.box;
  const side = Math.min(state.width, state.height) / 5;
  const [x, y] = [state.width / 2, state.height / 2];
  return [x - side / 2, y - side / 2, x + side / 2, y + side / 2];
}

function draw(kind, place) {
  stop();
  if (kind === "adjust" && !place) { say("There is no drawn place to adjust. B draws one."); return; }
  const there = place && here.by_hand.find(([number]) => number === place.number);
  const box = there ? there[1] : place ? place.keys[place.keys.length - 1][1] : startBox();
  work = { kind, place };
  const names = { box: "box", region: "region", adjust: place ? `place ${place.number}` : "" };
  stage.beginDrawing(box, names[kind]);
  say(`Drawing a ${kind === "adjust" ? "key frame of place " + place.number : names[kind]}: arrows move it, Shift and arrows change its size, Enter takes it, Escape leaves it.`);
}

function placeToAdjust() {
  const number = chosen && chosen.startsWith("place ") ? Number(chosen.slice(6)) : null;
  const drawn = state.by_hand.filter((one) => one.number);
  return drawn.find((one) => one.number === number) || drawn[drawn.length - 1];
}

async function finishDrawing() {
  const box = stage.endDrawing();
  const { kind, place } = work;
  work = null;
  if (kind === "region") {
    const choice = await ask({ title: "Fill this region", text: "It is filled with one colour.", options: spans(false), button: "Fill" });
    if (choice) await change("/edit", { do: "region", box, ...spanOf(choice) });
    return;
  }
  const keys = new Map(place ? place.keys : []);
  keys.set(frame, box);
  await followBox([...keys].sort((a, b) => a[0] - b[0]), place ? place.number : state.new_place);
}

const ENDS = {
  cut: "a cut or the end", lost: "it is lost", drifts: "it drifts", outside: "it leaves the picture", long: "it is long", damage: "the file is damaged",
};

async function followBox(keys, number) {
  work = { kind: "following" };
  let told;
  try {
    await post("/follow", { keys });
    for (;;) {
      told = await get("/follow");
      if (told.done || !work) break;
      say(`Following it: ${told.count} frames. Escape stops.`);
      await pause(150);
    }
  } catch (error) {
    work = null;
    complain(error);
    return;
  }
  const stopped = !work;
  work = null;
  if (stopped || !told.boxes) { say("Nothing was covered."); return; }
  const done = await change("/edit", { do: "cover place", number, keys, first: told.first, boxes: told.boxes });
  if (!done) return;
  chosen = `place ${number}`;
  person = null;
  drawBoxes();
  showLists();
  stage.focusBox(chosen);
  const last = told.first + told.count - 1;
  say(`Place ${number} is covered from frame ${told.first} (${ENDS[told.ends.before]}) to ${last} (${ENDS[told.ends.after]}). E adjusts it where it drifts.`);
}

function leaveDrawing() {
  if (work && work.kind === "following") { post("/follow/stop").catch(() => {}); work = null; return; }
  stage.endDrawing();
  work = null;
  say("Left.");
}

function setMark(which) {
  marks[which] = marks[which] === frame ? null : frame;
  if (marks[0] !== null && marks[1] !== null && marks[0] > marks[1]) marks[1 - which] = null;
  timeline.setMarks(marks);
  const some = marks[0] !== null || marks[1] !== null;
  element("marks").textContent = some ? `marked ${marks[0] ?? 0} to ${marks[1] ?? state.frames - 1}` : "";
  say(some ? `Marked frames ${marks[0] ?? 0} to ${marks[1] ?? state.frames - 1}.` : "Nothing is marked.");
}

async function snapshot() {
  const link = document.createElement("a");
  link.download = `${state.recording.replace(/\.[^.]*$/, "")}-${frame}.jpg`;
  try { link.href = await picture(`/snapshot/${frame}.jpg`); } catch (error) { complain(error); return; }
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  say("A snapshot of the filtered picture was saved. People left visible are covered in it.");
}

async function finish() {
  const left = state ? state.doubts.filter((one) => !one.looked).length : 0;
  const choice = await ask({
    title: "Finish the review?",
    text: `${state ? state.edits.length : 0} edits are saved. ${left ? `${left} things were not looked at.` : "Everything was looked at."} The desk closes; streamdeid filter --edits makes the video.`,
    button: "Finish",
  });
  if (!choice) return;
  try { await post("/finish"); } catch (error) { complain(error); return; }
  forget();
  document.body.replaceChildren(Object.assign(document.createElement("p"), { className: "over", textContent: "The desk is closed. You can close this window." }));
}

// ---- keys

const second = () => Math.max(1, Math.round(state.rate));
const KEYS = {
  " ": play,
  ArrowLeft: (event) => { stop(); go(frame - (event?.shiftKey ? second() : 1)); },
  ArrowRight: (event) => { stop(); go(frame + (event?.shiftKey ? second() : 1)); },
  Home: () => { stop(); go(0); },
  End: () => { stop(); go(state.frames - 1); },
  j: () => goToDoubt(doubt === null ? 0 : doubt + 1),
  k: () => goToDoubt(doubt === null ? 0 : doubt - 1),
  Enter: (event) => accept(!event?.shiftKey),
  u: showPerson,
  c: coverPerson,
  r: removeRedaction,
  b: () => draw("box", null),
  e: () => draw("adjust", placeToAdjust()),
  g: () => draw("region", null),
  m: joinPersons,
  p: partPerson,
  s: anotherSurrogate,
  z: () => change("/undo"),
  y: () => change("/redo"),
  w: snapshot,
  "[": () => setMark(0),
  "]": () => setMark(1),
  "+": () => timeline.zoom(0.5),
  "=": () => timeline.zoom(0.5),
  "-": () => timeline.zoom(2),
  0: () => timeline.zoom(0),
  "?": showKeys,
};

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function drawingKey(event) {
  if (event.key === "Escape") { leaveDrawing(); return true; }
  if (!stage.isDrawing()) return false;
  if (event.key === "Enter") { finishDrawing(); return true; }
  const arrow = ARROWS[event.key];
  if (!arrow) return event.key !== "Tab" && event.key.length === 1;
  stage.nudge(...arrow, event.shiftKey, event.altKey);
  return true;
}

// A button keeps its own Enter and Space; the boxes over the picture and the list of doubts leave them to the desk.
const ownKeys = (target) => target.closest("button, summary") && !target.closest("#boxes, #doubts");

document.addEventListener("keydown", (event) => {
  if (!state || dialogOpen() || event.ctrlKey || event.metaKey) return;
  if (work && drawingKey(event)) { event.preventDefault(); return; }
  if (work && stage.isDrawing()) return;
  if ((event.key === "Enter" || event.key === " ") && ownKeys(event.target)) return;
  if (event.key === "o" || event.key === "O") {
    event.preventDefault();
    if (!event.repeat) stage.hold(frame);
    return;
  }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (!Object.hasOwn(KEYS, key)) return;
  event.preventDefault();
  KEYS[key](event);
});

document.addEventListener("keyup", (event) => { if (event.key.toLowerCase() === "o") stage.letGo(); });
window.addEventListener("blur", stage.letGo);
document.addEventListener("visibilitychange", () => { if (document.hidden) { stage.letGo(); stop(); } });
window.addEventListener("pagehide", () => { stage.letGo(); leave(); });

for (const button of document.querySelectorAll("button[data-key]")) {
  button.addEventListener("click", () => { if (state) KEYS[button.dataset.key](); });
}
const hold = element("hold");
hold.addEventListener("pointerdown", () => { if (state) stage.hold(frame); });
for (const name of ["pointerup", "pointerleave", "pointercancel"]) hold.addEventListener(name, stage.letGo);
hold.addEventListener("keydown", (event) => { if ([" ", "Enter"].includes(event.key) && !event.repeat && state) { event.preventDefault(); stage.hold(frame); } });
hold.addEventListener("keyup", stage.letGo);
element("finish").addEventListener("click", finish);
screen.addEventListener("focus", () => { if (state && !stage.isSettling() && !stage.isDrawing()) { chosen = null; drawBoxes(); } });
timeline.onSeek((number) => { stop(); go(number); });

open();
