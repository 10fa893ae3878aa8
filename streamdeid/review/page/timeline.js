// The timeline: one row for each person, run lengths drawn onto a canvas, so that an hour costs what a minute does.

const canvas = document.getElementById("timeline");
const slider = document.getElementById("slider");
const pen = canvas.getContext("2d");
const RULER = 26;
const ROW = 26;

let state = null;
let rows = [];
let from = 0;
let span = 1;
let frame = 0;
let current = null;
let marks = [null, null];
let waiting = false;
let colours = {};

const dark = matchMedia("(prefers-color-scheme: dark)");
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  colours = { states: state.states.map((_, at) => of(`--state-${at}`)) };
  for (const name of ["ink", "soft", "line", "row", "accent", "warn", "card"]) colours[name] = of(`--${name}`);
}
dark.addEventListener("change", () => { if (state) { readColours(); redraw(); } });

export function setState(next, nextRows) {
  const first = !state;
  state = next;
  rows = nextRows;
  if (first) { from = 0; span = Math.max(1, state.frames); }
  slider.setAttribute("aria-valuemax", String(state.frames - 1));
  readColours();
  fit();
}

export function setFrame(number, text) {
  frame = number;
  slider.setAttribute("aria-valuenow", String(number));
  slider.setAttribute("aria-valuetext", text);
  if (span < state.frames && (frame < from || frame >= from + span)) from = clamp(frame - span / 2);
  redraw();
}

export function setCurrent(doubt) { current = doubt; redraw(); }
export function setMarks(pair) { marks = pair; redraw(); }

export function zoom(factor) {
  const least = Math.min(state.frames, 50);
  const next = factor ? Math.max(least, Math.min(state.frames, span * factor)) : state.frames;
  const share = (frame - from) / span;
  span = next;
  from = clamp(frame - (share >= 0 && share <= 1 ? share : 0.5) * span);
  redraw();
}

const clamp = (begin) => Math.max(0, Math.min(state.frames - span, begin));
const wide = () => canvas.clientWidth;
const xOf = (number) => ((number - from) / span) * wide();
export const frameAt = (x) => Math.max(0, Math.min(state.frames - 1, Math.floor(from + (x / wide()) * span)));

function fit() {
  const height = RULER + ROW * rows.length + 4;
  const scale = devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(slider.clientWidth * scale);
  canvas.height = Math.round(height * scale);
  redraw();
}
new ResizeObserver(() => { if (state) fit(); }).observe(slider);

function redraw() {
  if (waiting || !state) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

function clock(seconds) {
  const whole = Math.floor(seconds);
  const hours = Math.floor(whole / 3600);
  const two = (value) => String(value).padStart(2, "0");
  const minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

function draw() {
  const scale = devicePixelRatio || 1;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const width = wide();
  const height = canvas.height / scale;
  pen.clearRect(0, 0, width, height);
  ruler(width);
  rows.forEach((row, at) => {
    const top = RULER + at * ROW;
    pen.fillStyle = colours.row;
    pen.beginPath();
    pen.roundRect(0, top + 4, width, ROW - 8, 4);
    pen.fill();
    stretches(row.runs, top + 4, ROW - 8);
  });
  pen.fillStyle = colours.soft;
  for (const cut of state.cuts) {
    const x = Math.round(xOf(cut));
    if (x < 0 || x > width) continue;
    for (let y = RULER; y < height; y += 5) pen.fillRect(x, y, 1, 3);
  }
  stretch();
  doubts();
  const x = xOf(frame + 0.5);
  pen.fillStyle = colours.accent;
  pen.fillRect(Math.round(x) - 1, 12, 2, height - 12);
  pen.beginPath();
  pen.roundRect(Math.round(x) - 5, 8, 10, 10, 3);
  pen.fill();
}

// Run lengths: first frame, frames, state, and so on. What is narrower than a pixel still shows.
function stretches(runs, top, height) {
  const width = wide();
  let end = -1;
  let last = -1;
  for (let i = 0; i < runs.length; i += 3) {
    const begin = xOf(runs[i]);
    const stop = xOf(runs[i] + runs[i + 1]);
    if (stop < 0) continue;
    if (begin > width) break;
    if (stop - begin < 0.5 && begin < end && runs[i + 2] === last) continue;
    pen.fillStyle = colours.states[runs[i + 2]];
    end = Math.max(stop, begin + 1);
    last = runs[i + 2];
    pen.fillRect(begin, top, end - begin, height);
    if (last >= state.states.length - 3 && stop - begin > 3) hatch(begin, top, stop - begin, height);
  }
}

// What an edit changed is hatched, too: colour alone tells it to nobody who does not see it.
function hatch(x, top, width, height) {
  pen.save();
  pen.beginPath();
  pen.rect(x, top, width, height);
  pen.clip();
  pen.strokeStyle = colours.card;
  pen.globalAlpha = 0.55;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (let at = Math.floor((Math.max(x, 0) - height) / 6) * 6; at < Math.min(x + width, wide()); at += 6) {
    pen.moveTo(at, top + height);
    pen.lineTo(at + height, top);
  }
  pen.stroke();
  pen.restore();
}

function ruler(width) {
  const rate = state.rate || 25;
  const steps = [0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];
  const step = steps.find((one) => (one * rate * width) / span >= 80) || 7200;
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  for (let at = Math.floor(from / rate / step) * step; at * rate < from + span; at += step) {
    const x = xOf(at * rate);
    pen.fillStyle = colours.line;
    pen.fillRect(Math.round(x), 18, 1, 6);
    pen.fillStyle = colours.soft;
    if (x >= 0) pen.fillText(step < 1 ? `${clock(at)}.${Math.round((at % 1) * 10)}` : clock(at), x + 4, 8);
  }
}

function stretch() {
  if (marks[0] === null && marks[1] === null) return;
  const begin = xOf(marks[0] ?? 0);
  const end = xOf((marks[1] ?? state.frames - 1) + 1);
  pen.globalAlpha = 0.16;
  pen.fillStyle = colours.accent;
  pen.fillRect(begin, RULER, end - begin, canvas.height);
  pen.globalAlpha = 1;
  pen.fillRect(begin, RULER, 2, canvas.height);
  pen.fillRect(end - 2, RULER, 2, canvas.height);
}

function doubts() {
  for (const one of [...state.doubts].reverse()) {
    const now = current === one.id;
    const x = xOf((one.first + one.last + 1) / 2);
    if (x < -6 || x > wide() + 6) continue;
    pen.fillStyle = one.looked ? colours.soft : colours.warn;
    pen.globalAlpha = one.looked ? 0.5 : 1;
    const half = now ? 6 : 4;
    pen.beginPath();
    pen.moveTo(x - half, RULER - 2 * half + 1);
    pen.lineTo(x + half, RULER - 2 * half + 1);
    pen.lineTo(x, RULER + 2);
    pen.fill();
    const row = rows.findIndex((each) => each.person === (one.person ?? 0));
    if (now && row >= 0) {
      pen.strokeStyle = colours.warn;
      pen.lineWidth = 2;
      const begin = xOf(one.first) - 2;
      pen.strokeRect(begin, RULER + row * ROW + 2, Math.max(5, xOf(one.last + 1) - begin + 2), ROW - 4);
    }
    pen.globalAlpha = 1;
  }
}

// A click or a drag goes to a frame.
export function onSeek(seek) {
  let down = false;
  const go = (event) => seek(frameAt(event.clientX - canvas.getBoundingClientRect().left));
  slider.addEventListener("pointerdown", (event) => { down = true; slider.setPointerCapture(event.pointerId); go(event); });
  slider.addEventListener("pointermove", (event) => { if (down) go(event); });
  slider.addEventListener("pointerup", () => { down = false; });
}
