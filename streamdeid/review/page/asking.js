// Requests to the desk. Nothing else is ever asked.

import { asked, take } from "/token.js";

export async function get(path) {
  return (await answer(path)).json();
}

// An address of this page's own for a picture; who asks for it revokes it.
export async function picture(path) {
  return URL.createObjectURL(await (await answer(path)).blob());
}

async function answer(path) {
  const told = await asked(path);
  if (told.ok) return told;
  const error = new Error((await told.text()).trim() || "The desk does not answer.");
  error.stranger = told.status === 401;
  throw error;
}

// The answer's JSON; an Error with the desk's own words when it refuses.
export async function post(path, body) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  let answer;
  try {
    answer = await asked(path, { method: "POST", ...sent });
  } catch {
    throw new Error("The desk does not answer: it was closed, or its window is gone.");
  }
  if (answer.status === 204) return {};
  const text = await answer.text();
  let told = {};
  try { told = JSON.parse(text); } catch { told = { wrong: text.trim() }; }
  if (!answer.ok) throw new Error(told.wrong || "The desk refused that.");
  return told;
}

// Told while the page goes away, which waits for no answer.
export function leave() {
  asked("/closed", { method: "POST", keepalive: true }).catch(() => {});
}

// The desk is over: its token opens nothing any more.
export const forget = () => take("");

export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
