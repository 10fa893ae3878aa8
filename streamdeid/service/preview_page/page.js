"use strict";
// Asks for the cameras' state every second and for one picture after the other of each camera that is in sight. A
// stream for each camera would do, but a browser opens six connections to a server and no more, for all its windows.

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
    next.src = `${one.path}/preview.jpg?at=${Date.now()}`;
    try {
      await soon(next.decode());
      one.root.querySelector("img").replaceWith(next);
      one.root.querySelector(".none").textContent = "";
      await pause(110);
    } catch {
      next.src = "";
      blank(one);
      await pause(1000);
    }
  }
  blank(one); // what is not looked at grows old
  one.running = false;
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
    const answer = await fetch(`${one.path}/snapshot.jpg`, { method: "POST", signal: AbortSignal.timeout(15000) });
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

async function refresh() {
  try {
    const answer = await fetch("/api/cameras", { signal: AbortSignal.timeout(3000) });
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
    summarise("The service does not answer.");
    for (const one of cards.values()) {
      one.why = "The service does not answer.";
      one.showing = false;
      one.root.querySelector(".state").textContent = "unknown";
      one.root.querySelector(".state").dataset.state = "unknown";
    }
  }
  setTimeout(refresh, 1000);
}

refresh();
