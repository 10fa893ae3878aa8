// Asks for the cameras' state every second and for one picture after the other of each camera that is in sight. A
// stream for each camera would do, but a browser opens six connections to a server and no more, for all its windows.

import { asked, known, take } from "/token.js";

const cards = new Map();
const place = document.getElementById("cameras");
const summary = document.getElementById("summary");
const still = "There is no picture now.";
const oldest = 2000; // milliseconds for which a picture is shown as if it were of now

function card(name) {
  const root = document.getElementById("camera").content.cloneNode(true).querySelector("article");
  const path = `/cameras/${encodeURIComponent(name)}`;
  const one = { root, name, path, visible: true, showing: false, gone: false, running: false };
  root.dataset.camera = name;
  root.setAttribute("aria-label", `Camera ${name}`);
  root.querySelector("h2").textContent = name;
  root.querySelector(".stream").href = `${path}/stream.mjpeg`;
  root.querySelector(".stream").hidden = known(); // a link brings no token, and a stream has no end to wait for
  root.querySelector(".snapshot").setAttribute("aria-label", `Save a snapshot of ${name}`);
  root.querySelector(".snapshot").addEventListener("click", () => snapshot(one));
  sight.observe(root);
  place.append(root);
  return one;
}

const sight = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const one = cards.get(entry.target.dataset.camera);
    if (one) { one.visible = entry.isIntersecting; watch(one); }
  }
});

document.addEventListener("visibilitychange", () => {
  for (const one of cards.values()) { if (document.hidden) blank(one); else watch(one); }
});

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const soon = (what) => Promise.race([what, new Promise((_, fail) => setTimeout(fail, oldest))]);

// One loop for each camera in sight: the next picture is asked for when the last one is here.
async function watch(one) {
  if (one.running) return;
  one.running = true;
  while (!one.gone && one.showing && one.visible && !document.hidden) {
    const next = new Image();
    next.alt = `Filtered picture of ${one.name}`;
    const leaving = new AbortController();
    try {
      await soon(fill(next, `${one.path}/preview.jpg`, leaving.signal));
      one.root.querySelector("img").replaceWith(next);
      one.root.querySelector(".none").textContent = "";
      await pause(110);
    } catch {
      leaving.abort();
      next.removeAttribute("src");
      blank(one);
      await pause(1000);
    }
  }
  blank(one); // what is not looked at grows old
  one.running = false;
}

// A picture into an image.
async function fill(image, path, signal) {
  const answer = await asked(path, { signal });
  if (!answer.ok) throw new Error();
  const address = URL.createObjectURL(await answer.blob());
  try {
    image.src = address;
    await image.decode();
  } finally {
    URL.revokeObjectURL(address);
  }
}

function blank(one) {
  one.root.querySelector("img").hidden = true;
  one.root.querySelector(".none").textContent = one.why || still;
}

async function snapshot(one) {
  const button = one.root.querySelector(".snapshot");
  const said = one.root.querySelector(".said");
  button.disabled = true;
  said.textContent = "";
  try {
    const answer = await asked(`${one.path}/snapshot.jpg`, { method: "POST", signal: AbortSignal.timeout(15000) });
    if (!answer.ok) throw new Error();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `${one.name}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.jpg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    said.textContent = "Saved.";
  } catch {
    said.textContent = still;
  }
  button.disabled = false;
}

function summarise(text) {
  if (summary.textContent !== text) summary.textContent = text;
}

const milliseconds = (value) => (value === null ? "–" : `${Math.round(value * 1000)} ms`);

function show(one, camera) {
  const set = (name, text) => {
    const element = one.root.querySelector(`[data-is="${name}"]`);
    if (element.textContent !== text) element.textContent = text;
  };
  const state = one.root.querySelector(".state");
  state.textContent = camera.state;
  state.dataset.state = camera.state;
  const reason = camera.state === "live" ? "" : camera.reason || "";
  const said = one.root.querySelector(".reason");
  if (said.textContent !== reason) said.textContent = reason;
  one.why = ["starting", "restarting", "ended", "failed"].includes(camera.state)
    ? { starting: "The camera is starting.", restarting: "The camera is being restarted.",
        ended: "The file is at its end.", failed: "The camera is off: its settings are wrong." }[camera.state]
    : still;
  set("rate", `${camera.rate.toFixed(1)} / s`);
  set("p50", milliseconds(camera.latency_p50));
  set("p95", milliseconds(camera.latency_p95));
  set("people", camera.people === null ? "–" : String(camera.people));
  set("dropped", String(camera.dropped));
  set("withheld", String(camera.withheld));
  set("restarts", String(camera.restarts));
  set("size", camera.size === null ? "–" : `${camera.size[0]} × ${camera.size[1]}`);
  set("node", camera.node || "");
  one.root.querySelector('[data-is="node"]').parentElement.hidden = camera.node === null;
  const faces = Object.entries(camera.faces).map(([level, count]) => `${level}: ${count}`);
  const list = one.root.querySelector("ul");
  if (list.dataset.shown !== faces.join()) {
    list.dataset.shown = faces.join();
    list.replaceChildren(...(faces.length ? faces : ["none yet"]).map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
  }
}

// Nothing is known of any camera.
function lost(why) {
  summarise(why);
  for (const one of cards.values()) {
    one.why = why;
    one.showing = false;
    one.root.querySelector(".state").textContent = "unknown";
    one.root.querySelector(".state").dataset.state = "unknown";
  }
}

async function refresh() {
  try {
    const answer = await asked("/api/cameras", { signal: AbortSignal.timeout(3000) });
    if (answer.status === 401) { askForToken(); return; }
    if (!answer.ok) throw new Error();
    const { cameras } = await answer.json();
    const names = new Set(cameras.map((camera) => camera.name));
    for (const [name, one] of cards) {
      if (!names.has(name)) { one.gone = true; sight.unobserve(one.root); one.root.remove(); cards.delete(name); }
    }
    for (const camera of cameras) {
      if (!cards.has(camera.name)) cards.set(camera.name, card(camera.name));
      const one = cards.get(camera.name);
      show(one, camera);
      one.showing = camera.showing;
      watch(one);
    }
    const live = cameras.filter((camera) => camera.state === "live").length;
    summarise(`${live} of ${cameras.length} ${cameras.length === 1 ? "camera" : "cameras"} live`);
  } catch {
    lost("The service does not answer.");
  }
  setTimeout(refresh, 1000);
}

// ---- the token, where one is needed

const asking = document.getElementById("asking");

function askForToken() {
  lost(known() ? "That is not the token of this service." : "This service asks for its token.");
  asking.hidden = false;
  asking.querySelector("input").focus();
}

asking.addEventListener("submit", (event) => {
  event.preventDefault();
  take(asking.querySelector("input").value.trim());
  asking.querySelector("input").value = "";
  asking.hidden = true;
  for (const stream of document.querySelectorAll(".stream")) stream.hidden = known();
  refresh();
});

// Links bring no token: what they lead to is fetched with it, and shown as the text that it is.
for (const link of document.querySelectorAll("footer a")) {
  link.addEventListener("click", async (event) => {
    if (!known()) return;
    event.preventDefault();
    try {
      const told = await (await asked(link.href, { signal: AbortSignal.timeout(3000) })).text();
      location.assign(URL.createObjectURL(new Blob([told], { type: "text/plain;charset=utf-8" })));
    } catch {
      summarise("The service does not answer.");
    }
  });
}

refresh();
