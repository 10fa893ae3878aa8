// Requests to the desk. Nothing else is ever asked.

export async function get(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error((await answer.text()).trim() || "The desk does not answer.");
  return answer.json();
}

// The answer's JSON; an Error with the desk's own words when it refuses.
export async function post(path, asked) {
  const sent = asked === undefined ? {} : { body: JSON.stringify(asked), headers: { "Content-Type": "application/json" } };
  let answer;
  try {
    answer = await fetch(path, { method: "POST", ...sent });
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

export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
