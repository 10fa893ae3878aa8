"""Debian's Chromium, driven over the WebDriver protocol (W3C) with nothing but the standard library."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from tests.patience import PATIENCE, eventually

BROWSER, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Shift": "\ue008",
    "Escape": "\ue00c",
    "Space": " ",
    "Left": "\ue012",
    "Up": "\ue013",
    "Right": "\ue014",
    "Down": "\ue015",
    "End": "\ue010",
    "Home": "\ue011",
}
"""Keys that are no characters, by name."""
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

needs_chromium = pytest.mark.skipif(
    shutil.which(BROWSER) is None or shutil.which(DRIVER) is None,
    reason="needs Debian's chromium and chromium-driver",
)


def free_port() -> int:
    """A port that the kernel chose and that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Chromium:
    """A browser without a window, in a profile of its own; leave the `with` block to end it."""

    def __init__(self, directory: Path, *, dark: bool = False, size: tuple[int, int] = (1280, 900)) -> None:
        port = free_port()
        self._driver = subprocess.Popen(
            [DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self._address = f"http://127.0.0.1:{port}"
        self._session = ""
        flags = [*_FLAGS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={directory / 'profile'}"]
        flags += ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []
        downloads = {"download.default_directory": str(directory), "download.prompt_for_download": False}
        wanted = {"goog:chromeOptions": {"binary": BROWSER, "args": flags, "prefs": downloads}}
        wanted["goog:loggingPrefs"] = {"browser": "ALL"}
        try:
            eventually(self._answers)
            made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._session = f"/session/{made['sessionId']}"
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._session:
                self._call("DELETE", self._session)
        finally:
            self._driver.terminate()
            self._driver.wait(PATIENCE)

    def open(self, address: str) -> None:
        """Load a page."""
        self._call("POST", f"{self._session}/url", {"url": address})

    def address(self) -> str:
        """What the address bar says."""
        return str(self._call("GET", f"{self._session}/url"))

    def run(self, script: str) -> Any:
        """The result of JavaScript in the page."""
        return self._call("POST", f"{self._session}/execute/sync", {"script": script, "args": []})

    def click(self, selector: str) -> None:
        """Click what a CSS selector finds."""
        self._call("POST", f"{self._session}/element/{self._found(selector)}/click", {})

    def press(self, *keys: str) -> None:
        """Press and let go of keys, one after the other: characters, or names as in `KEYS`, with "Shift+" before."""
        for key in keys:
            held = ["Shift"] if key.startswith("Shift+") else []
            name = key.removeprefix("Shift+")
            self.down(*held, name)
            self.up(name, *held)

    def down(self, *keys: str) -> None:
        """Press keys and hold them."""
        self._act("keyDown", keys)

    def up(self, *keys: str) -> None:
        """Let go of keys."""
        self._act("keyUp", keys)

    def _act(self, kind: str, keys: Sequence[str]) -> None:
        steps = [{"type": kind, "value": KEYS.get(key, key)} for key in keys]
        source = {"type": "key", "id": "keyboard", "actions": steps}
        self._call("POST", f"{self._session}/actions", {"actions": [source]})

    def picture(self, selector: str | None = None) -> bytes:
        """A PNG of the page, or of what a selector finds."""
        place = self._session if selector is None else f"{self._session}/element/{self._found(selector)}"
        return base64.b64decode(self._call("GET", f"{place}/screenshot"))

    def console(self) -> list[str]:
        """What the browser complained about since last asked."""
        return [entry["message"] for entry in self._call("POST", f"{self._session}/se/log", {"type": "browser"})]

    def _found(self, selector: str) -> str:
        found = self._call("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        return str(found[_ELEMENT])

    def _answers(self) -> bool:
        assert self._driver.poll() is None, "chromedriver ended"
        try:
            return bool(self._call("GET", "/status")["ready"])
        except OSError:
            return False

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._address + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{method} {path}: {json.load(error)['value'].get('message')}") from None
