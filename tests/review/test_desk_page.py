"""The desk in a real Chromium, driven by the keyboard alone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamdeid.review.app import Open
from tests.chromium import Chromium, needs_chromium
from tests.patience import eventually
from tests.review.desk_server import Page, serving
from tests.review.drawn_review import Review

PAGE = Path(__file__).parents[2] / "streamdeid" / "review" / "page"


class Browser:
    """A browser on a desk."""

    def __init__(self, chromium: Chromium, page: Page) -> None:
        self.chromium, self.page = chromium, page
        chromium.open(page.address)
        eventually(lambda: chromium.run("return document.body && document.body.dataset.ready"))

    def press(self, *keys: str) -> None:
        """Press keys."""
        self.chromium.press(*keys)

    def run(self, script: str) -> Any:
        """Run JavaScript."""
        return self.chromium.run(script)

    def said(self, what: str) -> str:
        """Wait until the page says something that holds these words; all of it."""
        news = "return document.getElementById('said').textContent + document.getElementById('wrong').textContent"
        return str(eventually(lambda: what in (text := self.run(news)) and text))

    def frame(self) -> int:
        """The frame whose picture is shown."""
        return int(self.run("return document.getElementById('picture').dataset.frame"))


@pytest.fixture
def browser(review: Review, tmp_path: Path) -> Iterator[Browser]:
    review.saved.clear()
    with serving(lambda: Open(review.pictures(), review.desk())) as page, Chromium(tmp_path) as chromium:
        browser = Browser(chromium, page)
        yield browser
        assert chromium.console() == []


@needs_chromium
def test_a_whole_review_by_keyboard(browser: Browser, review: Review) -> None:
    assert "token" not in browser.chromium.address()
    browser.press("j")
    browser.said("1 of 3: no face")
    assert browser.frame() == 10
    assert browser.run("return document.querySelector('.box[aria-pressed=true]').dataset.id") == "track 9"
    browser.press("r")
    assert browser.run("return document.getElementById('dialog').open")
    browser.press("Enter")  # does not agree
    assert browser.run("return document.getElementById('dialog').open") and not review.saved
    browser.press("y")
    browser.said("Redaction of track 9 removed")
    browser.press("Enter")
    browser.said("2 of 3: late start")
    assert review.saved[-1].looked_at == ("false-9",)
    # Person 2 was not covered in the first frames: a box is drawn there, and followed to the cut.
    browser.press("Home", "b")
    browser.said("Drawing a box")
    x0, y0, x1, y1 = review.drawn[0].truths[1].box
    for _ in range(60):
        at = browser.run("const s = document.getElementById('drawn').style; return [s.left, s.top, s.width, s.height]")
        left, top, width, height = (float(value.rstrip("%")) / 100 for value in at)
        centre = np.array([480 * (left + width / 2), 270 * (top + height / 2)])
        wanted = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
        off = wanted - centre
        if np.abs(off).max() <= 2:
            break
        if abs(off[0]) > 2:
            browser.press("Right" if off[0] > 0 else "Left")
        if abs(off[1]) > 2:
            browser.press("Down" if off[1] > 0 else "Up")
    browser.press(*["Shift+Right"] * 4, *["Shift+Down"] * 8, "Enter")
    told = browser.said("is covered from frame 0")
    assert "to 19 (a cut or the end)" in told
    (place,) = [edit for edit in review.saved[-1].done if type(edit).__name__ == "CoverPlace"]
    for frame in (0, 10, 19):
        b = review.drawn[frame].truths[1].box
        inside = np.array(place.boxes[frame])
        assert inside[0] < (b[0] + b[2]) / 2 < inside[2] and inside[1] < (b[1] + b[3]) / 2 < inside[3]
    # Where it drifts it is set anew.
    browser.press("Right", "Right", "Right", "e", "Right", "Enter")
    browser.said("Place 1 is covered")
    assert [frame for frame, _ in review.saved[-1].done[-1].keys] == [0, 3]  # type: ignore[union-attr]
    ids = browser.run("return [...document.querySelectorAll('.box')].map((one) => one.dataset.id)")
    assert sorted(ids) == ["place 1", "track 1", "track 2"]
    browser.press("z", "z")
    browser.said("Undone: Place 1 covered")
    eventually(lambda: len(review.saved[-1].done) == 1)
    browser.press("y")
    eventually(lambda: len(review.saved[-1].done) == 2)


@needs_chromium
def test_a_person_is_shown_after_a_question_and_covered_again(browser: Browser, review: Review) -> None:
    browser.press("End", "Left")
    eventually(lambda: browser.frame() == 28)
    for _ in range(12):
        browser.press("Tab")
        if browser.run("return document.activeElement.dataset.id") == "track 1":
            break
    browser.said("Person 1")
    browser.press("u", "Escape", "u")
    assert browser.run("return document.getElementById('dialog-title').textContent") == "Leave person 1 visible?"
    assert not review.saved
    browser.press("y")
    browser.said("Person 1 left visible")
    state = "return document.querySelector('[data-id=\"track 1\"]').dataset.state"
    eventually(lambda: browser.run(state) == "7")
    assert "visible in" in browser.run("return document.querySelector('[data-person=\"1\"]').innerText")
    browser.press("c", "Enter")
    browser.said("Person 1 covered again")
    eventually(lambda: browser.run(state) != "7")


@needs_chromium
def test_the_original_shows_while_the_key_is_held(browser: Browser) -> None:
    shown = "const o = document.getElementById('original'); return [!o.hidden, o.hasAttribute('src')]"
    mark = "const m = document.getElementById('mark'); return !m.hidden && m.innerText.includes('ORIGINAL')"
    assert browser.run(shown) == [False, False] and not browser.run(mark)
    browser.chromium.down("o")
    assert browser.run(mark)
    eventually(lambda: browser.run(shown) == [True, True])
    assert browser.run("return getComputedStyle(document.getElementById('mark')).borderTopWidth") == "10px"
    browser.chromium.up("o")
    assert browser.run(shown) == [False, False] and not browser.run(mark)
    browser.chromium.down("o")
    browser.run("window.dispatchEvent(new Event('blur'))")  # the key is let go of elsewhere
    assert browser.run(shown) == [False, False] and not browser.run(mark)
    browser.chromium.up("o")


@needs_chromium
def test_boxes_are_those_of_the_frame(browser: Browser) -> None:
    """Wherever the focus was when others took their place."""
    ids = "return [...document.querySelectorAll('.box')].map((one) => one.dataset.id)"
    browser.press("j")
    browser.said("1 of 3")
    assert browser.run("return document.activeElement.dataset.id") == "track 9"
    for keys, there in ((["Home"], ["track 1"]), (["j"], ["track 1"]), (["End"], ["track 1", "track 2"])):
        browser.press(*keys)
        eventually(lambda there=there: browser.run(ids) == there)  # type: ignore[misc]
    browser.press("k")
    eventually(lambda: browser.run(ids) == ["track 1", "track 2", "track 9"])
    eventually(lambda: browser.run("return document.activeElement.dataset.id") == "track 9")


@needs_chromium
def test_nothing_of_the_original_stays_when_the_page_closes(review: Review, tmp_path: Path) -> None:
    pictures = review.pictures()
    with serving(lambda: Open(pictures, review.desk())) as page, Chromium(tmp_path) as chromium:
        browser = Browser(chromium, page)
        chromium.down("o")
        eventually(lambda: browser.run("return !document.getElementById('original').hidden"))
        assert pictures._recording._cache
        chromium.open("about:blank")
        eventually(lambda: not pictures._recording._cache)
        original = page.ask("/original/0.jpg")[2]
        kept = [path for path in (tmp_path / "profile").rglob("*") if path.is_file() and path.stat().st_size < 1 << 24]
        assert kept and not any(original[600:800] in path.read_bytes() for path in kept)


@needs_chromium
def test_it_plays_and_seeks(browser: Browser) -> None:
    browser.press("Space")
    eventually(lambda: browser.frame() > 5)
    browser.press("Space")
    browser.said("Paused")
    at = browser.frame()
    time.sleep(0.5)
    assert abs(browser.frame() - at) <= 1
    browser.press("Home", "Shift+Right")
    eventually(lambda: browser.frame() == 10)
    browser.press("[", "End", "]")
    browser.said("Marked frames 10 to 29")
    browser.press("?")
    assert "leave a person visible" in browser.run("return document.getElementById('keys').innerText")
    browser.press("Escape", "+", "0", "-")


@needs_chromium
def test_everything_has_a_name(browser: Browser) -> None:
    """For who hears the page."""
    nameless = """return [...document.querySelectorAll('button, [tabindex], input, progress')].filter((one) =>
        !(one.getAttribute('aria-label') || one.textContent.trim() || one.closest('label, dialog:not([open])'))
    ).map((one) => one.outerHTML)"""
    assert browser.run(nameless) == []
    assert browser.run("return document.getElementById('said').getAttribute('aria-live')") == "polite"
    assert browser.run("return document.getElementById('slider').getAttribute('aria-valuetext')").startswith("frame 0")
    assert browser.run("return document.documentElement.lang") == "en"


@needs_chromium
def test_finish_ends_the_desk(browser: Browser) -> None:
    browser.run("document.getElementById('finish').focus()")
    browser.press("Enter", "Tab", "Enter")
    eventually(lambda: "The desk is closed" in browser.run("return document.body.textContent"))

    def gone() -> bool:
        try:
            return browser.page.ask("/state")[0] == 0
        except OSError:
            return True

    eventually(gone)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read(theme: int) -> None:
    """Contrast as WCAG 2.2 has it: 4.5 for text, 3 for what is drawn."""
    blocks = re.findall(r":root \{(.*?)\}", (PAGE / "desk.css").read_text(), re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", blocks[theme]))

    def contrast(one: str, other: str) -> float:
        a, b = sorted((_luminance(colours[one]), _luminance(colours[other])))
        return (b + 0.05) / (a + 0.05)

    texts = [(ink, on) for ink in ("ink", "soft") for on in ("card", "ground", "chosen")]
    texts += [("on-accent", "accent"), ("danger", "card"), ("danger", "danger-ground"), ("card", "danger")]
    assert {pair: contrast(*pair) for pair in texts if contrast(*pair) < 4.5} == {}
    drawn = [(f"state-{number}", "row") for number in range(10)] + [("warn", "card"), ("accent", "card")]
    assert {pair: contrast(*pair) for pair in drawn if contrast(*pair) < 3} == {}
