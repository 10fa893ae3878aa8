"use strict";
// The token, and requests with it. It came behind the "#" of the address, which browsers send to nobody, or somebody
// typed it. It is kept for this window and this host and port; no cookie, which every port of the host would be sent.

const NAME = "streamdeid-token";
let token = brought() ?? stored();

function brought() {
  if (!location.hash.startsWith("#token=")) return null;
  const text = location.hash.slice("#token=".length);
  history.replaceState(null, "", location.pathname + location.search);
  let given = text;
  try { given = decodeURIComponent(text); } catch { /* it has a % of its own */ }
  store(given);
  return given;
}

function stored() {
  try { return sessionStorage.getItem(NAME); } catch { return null; } // a browser may be told to keep nothing
}

function store(given) {
  try {
    if (given) sessionStorage.setItem(NAME, given); else sessionStorage.removeItem(NAME);
  } catch { /* then it is asked for again */ }
}

// An address with another token, in the window where the page is.
window.addEventListener("hashchange", () => { if (location.hash.startsWith("#token=")) location.reload(); });

export const known = () => Boolean(token);

// Take another token; an empty one forgets it.
export function take(given) {
  token = given;
  store(given);
}

// As `fetch`, of this host and port only, with the token.
export function asked(path, options = {}) {
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  return fetch(path, { cache: "no-store", redirect: "error", mode: "same-origin", ...options, headers });
}
