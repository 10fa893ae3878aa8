"""The preview page where a token is needed, in a real Chromium: brought, typed, and reached for from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from streamdeid.service.http_settings import HttpSettings
from tests.chromium import Chromium, needs_chromium
from tests.patience import PATIENCE, eventually
from tests.port_attacker import port_attacker
from tests.service.test_service_http import DOOR, TOKEN, Service, Shown, Visitor, served

JPEG = cv2.imencode(".jpg", np.full((48, 64, 3), 90, np.uint8))[1].tobytes()
SHOWN = "return document.querySelector('[data-camera=door] img:not([hidden])')?.naturalWidth === 64"
SUMMARY = "return document.getElementById('summary').textContent"


@pytest.fixture
def locked() -> Iterator[Visitor]:
    """A service with a token and one camera."""
    service = Service(DOOR)
    service.cameras["door"] = Shown(DOOR, JPEG)
    with served(HttpSettings(port=0, token=TOKEN), service=service) as visitor:
        yield visitor


@needs_chromium
def test_the_token_is_typed_once(locked: Visitor, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{locked.port}/"
    with Chromium(tmp_path) as browser:
        browser.open(address)
        eventually(lambda: browser.run(SUMMARY) == "This service asks for its token.")
        assert not browser.run("return document.querySelector('[data-camera]')")
        browser.press(*"wrong", "Enter")
        eventually(lambda: browser.run(SUMMARY) == "That is not the token of this service.")
        browser.press(*TOKEN, "Enter")
        eventually(lambda: browser.run(SHOWN))
        assert browser.run("return document.getElementById('asking').hidden && !document.cookie")
        assert browser.run("return document.querySelector('.stream').hidden")
        browser.click('[data-camera="door"] .snapshot')
        (saved,) = eventually(lambda: list(tmp_path.glob("door-*.jpg")))
        assert saved.read_bytes() == JPEG
        browser.open(address)
        eventually(lambda: browser.run(SHOWN))
        browser.click("footer a")
        eventually(lambda: "streamdeid_frames_filtered_total" in browser.run("return document.body.innerText"))
        assert TOKEN not in browser.address()


@needs_chromium
def test_another_port_gets_nothing_of_it(locked: Visitor, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{locked.port}/"
    secret = "cameras/door/snapshot.jpg"
    with Chromium(tmp_path) as browser, port_attacker(address, secret) as attacker:
        browser.open(f"{address}#token={TOKEN}")
        eventually(lambda: browser.run(SHOWN))
        assert browser.address() == address and browser.console() == []
        browser.run("document.cookie = 'control=for-every-port; path=/'")
        browser.run(f"location.assign('{attacker.address}')")
        assert attacker.done.wait(PATIENCE)
        assert any("control=for-every-port" in text for text in attacker.brought)
        assert not any(TOKEN in text for text in attacker.brought)
        found = attacker.attempts()
        assert len(found) > 20 and set(found.values()) <= {400, 401}, found
        assert attacker.asked({"Authorization": f"Bearer {TOKEN}"}) == 200
        assert not [text for text in attacker.brought if "JFIF" in text]
