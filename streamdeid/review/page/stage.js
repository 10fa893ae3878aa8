// The picture: one at a time is asked for, and the newest wanted next. Boxes over it are buttons, so Tab goes through them.

import { picture as pictureOf } from "./asking.js";

const screen = document.getElementById("screen");
const stage = document.getElementById("stage");
const picture = document.getElementById("picture");
const original = document.getElementById("original");
const mark = document.getElementById("mark");
const boxes = document.getElementById("boxes");
const doubtful = document.getElementById("doubtful");
const drawn = document.getElementById("drawn");

let size = [16, 9];
let wanted = null;
let loading = false;
let held = null;

export function setSize(width, height) {
  size = [width, height];
  fit();
}

function fit() {
  const scale = Math.min(stage.clientWidth / size[0], stage.clientHeight / size[1]);
  screen.style.width = `${Math.max(1, Math.floor(size[0] * scale))}px`;
  screen.style.height = `${Math.max(1, Math.floor(size[1] * scale))}px`;
}
new ResizeObserver(fit).observe(stage);

// Show a frame; resolves when the newest one asked for is here. shown: called with each that is.
export async function load(frame, version, shown) {
  wanted = [frame, version, shown];
  if (loading) return;
  loading = true;
  while (wanted) {
    const [number, of, then] = wanted;
    wanted = null;
    try {
      const next = new Image();
      next.src = await pictureOf(`/frame/${number}.jpg?v=${of}`);
      await next.decode();
      change(picture, next.src);
      picture.dataset.frame = number;
      picture.alt = `Frame ${number} as it will be published`;
      then(number);
    } catch {
      change(picture, null);
      picture.alt = `Frame ${number} cannot be shown`;
      delete picture.dataset.frame;
      then(number);
    }
  }
  loading = false;
}

export const busy = () => loading;

// Show another picture, or none, and let go of the one before.
function change(image, address) {
  const before = image.getAttribute("src");
  if (address) image.src = address; else image.removeAttribute("src");
  if (before) URL.revokeObjectURL(before);
}

// The original, for as long as a key is held down. The mark is there before the picture is.
export async function hold(frame) {
  held = frame;
  mark.hidden = false;
  document.body.classList.add("original");
  original.hidden = true;
  try {
    const address = await pictureOf(`/original/${frame}.jpg`);
    if (held !== frame) { URL.revokeObjectURL(address); return; }
    change(original, address);
    await original.decode();
  } catch {
    return;
  }
  if (held === frame) original.hidden = false;
}

export function letGo() {
  if (held === null) return;
  held = null;
  original.hidden = true;
  change(original, null);
  mark.hidden = true;
  document.body.classList.remove("original");
}

export const holding = () => held !== null;

function put(element, [x0, y0, x1, y1]) {
  const style = element.style;
  style.left = `${(100 * x0) / size[0]}%`;
  style.top = `${(100 * y0) / size[1]}%`;
  style.width = `${(100 * (x1 - x0)) / size[0]}%`;
  style.height = `${(100 * (y1 - y0)) / size[1]}%`;
}

// Where to look, while the frames of a doubt show.
export function showDoubt(box) {
  doubtful.hidden = !box;
  if (box) put(doubtful, box);
}

// One button for each redaction, kept from frame to frame so that the focus stays with a track.
export function showBoxes(places, chosen, choose) {
  const kept = new Map([...boxes.children].map((one) => [one.dataset.id, one]));
  const wantedOnes = places.map((place) => {
    let box = kept.get(place.id);
    if (!box) {
      box = Object.assign(document.createElement("button"), { type: "button" });
      box.append(document.createElement("span"));
      box.dataset.id = place.id;
      box.addEventListener("focus", () => choose(box.dataset.id));
      box.addEventListener("click", () => choose(box.dataset.id));
    }
    kept.delete(place.id);
    box.className = "box";
    box.dataset.state = place.state;
    box.setAttribute("aria-label", place.label);
    box.setAttribute("aria-pressed", String(place.id === chosen));
    box.firstChild.textContent = place.short;
    put(box, place.box);
    return box;
  });
  const lost = [...kept.values()].includes(document.activeElement);
  for (const gone of kept.values()) gone.remove();
  wantedOnes.forEach((box, at) => { if (boxes.children[at] !== box) boxes.insertBefore(box, boxes.children[at] || null); });
  if (lost) {
    settling = true; // the focus goes to the picture, and what is chosen stays so
    screen.focus({ preventScroll: true });
    settling = false;
  }
}

let settling = false;
export const isSettling = () => settling;

export function focusBox(id) {
  const box = [...boxes.children].find((one) => one.dataset.id === id);
  if (box) box.focus({ preventScroll: true });
}

// Drawing: a box that keys or the mouse move.
let drawing = null;

export const isDrawing = () => drawing !== null;

export function beginDrawing(box, text) {
  drawing = { box: [...box] };
  drawn.hidden = false;
  drawn.firstElementChild.textContent = text;
  screen.classList.add("drawing");
  screen.focus();
  put(drawn, drawing.box);
}

export function endDrawing() {
  const box = drawing && drawing.box;
  drawing = null;
  drawn.hidden = true;
  screen.classList.remove("drawing");
  return box && box.map((value) => Math.round(value * 10) / 10);
}

// Move the box, or its right and lower edges, by so many steps.
export function nudge(x, y, sizing, fine) {
  const step = fine ? 1 : Math.max(2, Math.round(size[0] / 160));
  const b = drawing.box;
  if (sizing) {
    b[2] = Math.min(size[0], Math.max(b[0] + 4, b[2] + x * step));
    b[3] = Math.min(size[1], Math.max(b[1] + 4, b[3] + y * step));
  } else {
    const dx = Math.max(-b[0], Math.min(size[0] - b[2], x * step));
    const dy = Math.max(-b[1], Math.min(size[1] - b[3], y * step));
    b[0] += dx; b[2] += dx; b[1] += dy; b[3] += dy;
  }
  put(drawn, b);
}

function pointOf(event) {
  const area = screen.getBoundingClientRect();
  return [
    Math.max(0, Math.min(size[0], ((event.clientX - area.left) / area.width) * size[0])),
    Math.max(0, Math.min(size[1], ((event.clientY - area.top) / area.height) * size[1])),
  ];
}

let corner = null;
screen.addEventListener("pointerdown", (event) => {
  if (!drawing) return;
  corner = pointOf(event);
  screen.setPointerCapture(event.pointerId);
  event.preventDefault();
});
screen.addEventListener("pointermove", (event) => {
  if (!drawing || !corner) return;
  const [x, y] = pointOf(event);
  if (Math.abs(x - corner[0]) < 4 || Math.abs(y - corner[1]) < 4) return;
  drawing.box = [Math.min(x, corner[0]), Math.min(y, corner[1]), Math.max(x, corner[0]), Math.max(y, corner[1])];
  put(drawn, drawing.box);
});
screen.addEventListener("pointerup", () => { corner = null; });
