"""Another user of the machine, who listens on another port, and a browser in which the desk is open."""

from __future__ import annotations

from pathlib import Path

from streamdeid.review.app import Open
from tests.chromium import Chromium, needs_chromium
from tests.patience import eventually
from tests.port_attacker import port_attacker
from tests.review.desk_server import serving
from tests.review.drawn_review import Review

READY = "return document.body && document.body.dataset.ready"


@needs_chromium
def test_what_another_port_gets_opens_nothing(review: Review, tmp_path: Path) -> None:
    """In the very window of the desk, after the original was looked at."""
    with serving(lambda: Open(review.pictures(), review.desk())) as page, Chromium(tmp_path) as browser:
        host = page.address.partition("#")[0]
        with port_attacker(host, "original/3.jpg") as attacker:
            browser.open(page.address)
            eventually(lambda: browser.run(READY))
            browser.down("o")
            eventually(lambda: browser.run("return !document.getElementById('original').hidden"))
            browser.up("o")
            # What a browser does send to every port of a host, or this test would prove nothing.
            browser.run("document.cookie = 'control=for-every-port; path=/'")
            browser.run(f"location.assign('{attacker.address}')")
            assert attacker.done.wait(30)
            assert any("control=for-every-port" in text for text in attacker.brought)
            assert not any(page.token in text for text in attacker.brought)
            found = attacker.attempts()
            assert len(found) > 20 and set(found.values()) <= {400, 401}, found
            assert attacker.asked({"Authorization": f"Bearer {page.token}"}) == 200
            told = [text.rpartition("\n")[2] for text in attacker.brought]
            assert not [text for text in told if "\ufffd" in text or "JFIF" in text or "drawn.mp4" in text]
            assert page.state()["version"] == 0


@needs_chromium
def test_the_address_shows_no_token_and_a_reload_keeps_it(review: Review, tmp_path: Path) -> None:
    with serving(lambda: Open(review.pictures(), review.desk())) as page, Chromium(tmp_path) as browser:
        host = page.address.partition("#")[0]
        for address in (page.address, host):
            browser.open(address)
            eventually(lambda: browser.run(READY))
            assert browser.address() == host and not browser.run("return document.cookie")
        browser.run("sessionStorage.clear()")
        browser.open("about:blank")
        browser.open(host)
        refused = "return document.getElementById('opening').textContent"
        eventually(lambda: "a token is needed" in browser.run(refused))
        # The printed address, in the same window: only what is behind "#" changes there.
        browser.run(f"location.href = '{page.address}'")
        eventually(lambda: browser.run(READY))
        assert browser.address() == host
