"""The desk over HTTP: who is refused, what each edit does, what pictures hold, and that nothing is lost."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from streamdeid.analysis.edits import Edits, RemoveRedaction, Rendered, ShowPerson, Span
from streamdeid.errors import OutputError
from streamdeid.review.app import Open
from streamdeid.review.pictures import Pictures
from tests.review.desk_server import Page, serving
from tests.review.drawn_review import SHA, Review, grown, mean_difference

ALIKE, OTHER = 6.0, 15.0
"""Mean difference, grey levels, of pictures that show the same, and of pictures that do not."""


@pytest.fixture
def page(review: Review) -> Iterator[Page]:
    review.saved.clear()
    with serving(lambda: Open(review.pictures(), review.desk())) as page:
        _wait(page)
        yield page


@pytest.fixture(scope="module")
def untouched(review: Review) -> Iterator[Page]:
    """A desk that nothing changes."""
    with serving(lambda: Open(review.pictures(), review.desk())) as page:
        _wait(page)
        yield page
        assert page.state()["version"] == 0


def _wait(page: Page) -> None:
    until = time.monotonic() + 10
    while page.state().get("opening"):
        assert time.monotonic() < until
        time.sleep(0.02)


def _whole(**edit: Any) -> dict[str, Any]:
    return {"first": 0, "last": None, **edit}


SHIPPED = ("/", "/desk.js", "/asking.js", "/token.js", "/desk.css")
"""What holds nothing of a recording."""
READS = (
    "/state",
    "/frame/0.jpg",
    "/original/0.jpg",
    "/snapshot/0.jpg",
    "/places?first=0&count=1",
    "/person/1.jpg",
)
CHANGES = ("/edit", "/undo", "/redo", "/looked", "/follow", "/follow/stop", "/closed", "/finish")


@pytest.mark.parametrize("path", [*READS, *CHANGES])
def test_strangers_are_refused(untouched: Page, path: str) -> None:
    method = "GET" if path in READS else "POST"
    edits = untouched.state()["version"]
    for wrong, status in (
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer " + "0" * 32}, 401),
        ({"Authorization": None, "Cookie": f"streamdeid={untouched.token}; token={untouched.token}"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": f"evil.example:{untouched.port}"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"http://127.0.0.1:{untouched.port + 1}"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Authorization": None, "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 401),
    ):
        told = untouched.ask(path, method, **wrong)
        assert told[0] == status, (wrong, told)
        assert b"drawn" not in told[2] and told[1]["Cache-Control"] == "no-store"
    assert untouched.state()["version"] == edits


@pytest.mark.parametrize("path", SHIPPED)
def test_only_what_comes_with_the_package_needs_no_token(untouched: Page, path: str) -> None:
    status, headers, body = untouched.ask(path, Authorization=None)
    assert status == 200 and b"drawn.mp4" not in body and untouched.token.encode() not in body
    assert headers["Cache-Control"] == "no-store"
    for wrong, refused in (
        ({"Host": "evil.example"}, 421),
        ({"Origin": f"http://127.0.0.1:{untouched.port + 1}"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 403),
    ):
        assert untouched.ask(path, Authorization=None, **wrong)[0] == refused
    assert untouched.ask(path, "POST", Authorization=None)[0] == 401


@pytest.mark.parametrize("path", [*SHIPPED, *READS, *CHANGES])
def test_the_wrong_method_is_refused(untouched: Page, path: str) -> None:
    for method in ("PUT", "DELETE", *(("POST",) if path in (*SHIPPED, *READS) else ())):
        assert untouched.ask(path, method)[0] == 405
    if path in CHANGES and path != "/follow":
        assert untouched.ask(path)[0] == 405


def test_only_the_header_brings_the_token(untouched: Page) -> None:
    """Nothing that a browser sends by itself, to this port or another; and no address: logs and histories keep it."""
    assert len(untouched.token) == 32 and untouched.address.endswith(f"/#token={untouched.token}")
    for path in (*SHIPPED, *READS):
        assert untouched.ask(path)[1]["Set-Cookie"] is None
    for given in (untouched.token, "0" * 32):
        for path in ("/", "/state", "/original/0.jpg", "/nowhere"):
            status, headers, told = untouched.ask(f"{path}?token={given}", Authorization=None)
            assert status == 400 and given not in str(headers) + told.decode()
    for pair in (f":{untouched.token}", f"desk:{untouched.token}"):
        basic = base64.b64encode(pair.encode()).decode()
        assert untouched.ask("/state", Authorization=f"Basic {basic}")[0] == 401


@pytest.mark.parametrize("what", ["frame", "original", "snapshot", "person"])
@pytest.mark.parametrize("number", ["9" * 5000, "9" * 4000, "9" * 20, "-1", "1e3", "%D9%A1", "a", "0x1", "+1", " 1"])
def test_a_picture_of_no_such_number_is_not_found(
    untouched: Page, caplog: pytest.LogCaptureFixture, what: str, number: str
) -> None:
    assert untouched.ask(f"/{what}/{number.replace(' ', '%20')}.jpg")[0] == 404
    assert not caplog.records


def test_the_page_asks_for_nothing_outside(untouched: Page) -> None:
    status, headers, html = untouched.ask("/")
    policy = headers["Content-Security-Policy"]
    assert status == 200 and "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    scripts = [
        untouched.ask(f"/{name}")[2]
        for name in ("desk.js", "stage.js", "timeline.js", "lists.js", "dialogs.js", "asking.js", "desk.css")
    ]
    for text in (html, *scripts):
        assert len(text) > 300 and b"http://" not in text and b"https://" not in text and b"//cdn" not in text


def test_the_state_tells_what_there_is(untouched: Page, review: Review) -> None:
    state = untouched.state()
    assert (state["frames"], state["rate"], state["width"], state["height"]) == (30, 10.0, 480, 270)
    assert state["cuts"] == [20] and [one["person"] for one in state["people"]] == [1, 2]
    two = state["people"][1]
    assert two["first"] == 3 and two["frames"] == 27 and sum(two["runs"][1::3]) == 27
    assert [state["states"][two["runs"][i]] for i in range(2, len(two["runs"]), 3)][:2] == [
        "own face",
        "posed face",
    ]
    assert state["nobody"] == [7, 8, state["states"].index("soft redaction")]
    assert [one["id"] for one in state["doubts"]] == ["false-9", "late-2", "short-1"]
    places = json.loads(untouched.ask("/places?first=8&count=2")[2])["frames"]
    assert [one["track"] for one in places[0]["places"]] == [1, 2, 9] and places[0]["time"] == 0.8
    for wrong in ("first=-1&count=1", "first=0", "first=a&count=2", "first=0&count=0"):
        assert untouched.ask(f"/places?{wrong}")[0] == 400


def test_pictures_are_the_outputs_and_the_original_only_where_asked(untouched: Page, review: Review) -> None:
    box = grown(review.drawn[12].truths[0].box, -0.05)
    published, original, snapshot = (untouched.picture(f"/{what}/12.jpg") for what in ("frame", "original", "snapshot"))
    assert mean_difference(published, original, box) > OTHER
    assert mean_difference(published, snapshot, box) < ALIKE
    assert "attachment" in untouched.ask("/snapshot/12.jpg")[1]["Content-Disposition"]
    height, width = untouched.picture("/person/1.jpg").shape[:2]
    assert 100 <= height <= 113 and width == 112
    for path in ("/frame/30.jpg", "/original/30.jpg", "/person/9.jpg", "/person/0.jpg"):
        assert untouched.ask(path)[0] == 404


def test_a_person_is_shown_only_when_confirmed_and_never_in_a_snapshot(page: Page, review: Review) -> None:
    assert "confirmed" in page.refused("/edit", _whole(do="show", person=1, confirmed=False))
    assert "fields" in page.refused("/edit", _whole(do="show", person=1))
    told = page.post("/edit", _whole(do="show", person=1, confirmed=True))
    assert told["state"]["people"][0]["visible"] > 10 and told["state"]["edits"] == [
        "Person 1 left visible, whole recording"
    ]
    original = page.picture("/original/15.jpg")
    one, two = (review.drawn[15].truths[person].box for person in (0, 1))
    published = page.picture("/frame/15.jpg")
    assert mean_difference(published, original, one) < ALIKE and mean_difference(published, original, two) > OTHER
    assert mean_difference(page.picture("/snapshot/15.jpg"), original, one) > OTHER
    page.post("/edit", {"do": "cover", "person": 1, "first": 10, "last": None})
    assert mean_difference(page.picture("/frame/15.jpg"), original, one) > OTHER
    place = json.loads(page.ask("/places?first=5&count=1")[2])["frames"][0]["places"][0]
    assert told["state"]["states"][place["state"]] == "left visible"


def test_a_snapshot_covers_who_was_left_visible_in_the_output(review: Review) -> None:
    """The output that holds the edit shows the face; its snapshot does not, whatever the edits do since."""
    made = ShowPerson(1, Span(0, None)), RemoveRedaction(9, Span(0, None))
    edits = Edits(SHA, 30, made, rendered=Rendered(SHA, made))
    pictures = Pictures(review.recording, review.recording, [float(one.time) for one in review.analysis.frames])
    with serving(lambda: Open(pictures, review.desk(edits))) as page:
        _wait(page)
        original = page.picture("/original/15.jpg")
        one, two = (review.drawn[15].truths[person].box for person in (0, 1))
        assert mean_difference(page.picture("/frame/15.jpg"), original, one) < ALIKE
        for _ in range(2):
            snapshot = page.picture("/snapshot/15.jpg")
            assert mean_difference(snapshot, original, one) > OTHER
            assert mean_difference(snapshot, original, two) < ALIKE  # it is as the output has it
            where = (8.0, 8.0, 60.0, 66.0)  # a redaction that was removed may have been a face after all
            assert mean_difference(page.picture("/snapshot/9.jpg"), page.picture("/original/9.jpg"), where) > OTHER
            page.post("/edit", {"do": "cover", "person": 1, "first": 0, "last": None})


def test_who_overlaps_somebody_stays_covered(page: Page, review: Review) -> None:
    """Track 9 of frames 7 to 14 does not meet person 1, so a place drawn by hand does."""
    box = list(review.drawn[15].truths[0].box)
    page.post("/edit", {"do": "cover place", "number": 1, "keys": [[15, box]], "first": 15, "boxes": [box]})
    state = page.post("/edit", _whole(do="show", person=1, confirmed=True))["state"]
    assert state["people"][0]["kept"] >= 1
    assert mean_difference(page.picture("/frame/15.jpg"), page.picture("/original/15.jpg"), tuple(box)) > OTHER


def test_a_false_redaction_is_removed_for_some_frames(page: Page) -> None:
    box = (8.0, 8.0, 60.0, 66.0)
    before = page.picture("/original/9.jpg")
    assert mean_difference(page.picture("/frame/9.jpg"), before, box) > OTHER
    page.post("/edit", {"do": "remove", "track": 9, "first": 9, "last": 9})
    assert mean_difference(page.picture("/frame/9.jpg"), before, box) < ALIKE
    assert mean_difference(page.picture("/frame/10.jpg"), page.picture("/original/10.jpg"), box) > OTHER


def test_regions_and_places_are_filled(page: Page) -> None:
    page.post("/edit", {"do": "region", "box": [200, 10, 260, 60], "first": 3, "last": 5})
    for frame, filled in ((2, False), (3, True), (5, True), (6, False)):
        for what in ("frame", "snapshot"):
            assert (page.picture(f"/{what}/{frame}.jpg")[14:56, 204:256].std() < 2) == filled
    state = page.state()
    assert state["by_hand"][0]["name"] == "Region 1" and state["by_hand"][0]["runs"][:2] == [3, 3]


def test_people_are_joined_parted_and_given_another_face(page: Page) -> None:
    state = page.post("/edit", {"do": "join", "person": 1, "other": 2, "confirmed": False})["state"]
    assert [one["person"] for one in state["people"]] == [1]
    state = page.post("/edit", {"do": "part", "person": 1, "first": 2, "new": state["new_person"]})["state"]
    assert [one["person"] for one in state["people"]] == [1, 3]
    state = page.post("/edit", {"do": "another surrogate", "person": 3})["state"]
    assert state["people"][1]["surrogates"] == 1
    assert "no person 7" in page.refused("/edit", {"do": "another surrogate", "person": 7})


def test_undo_and_redo_have_no_end(page: Page, review: Review) -> None:
    for frame in range(12):
        page.post("/edit", {"do": "remove", "track": 9, "first": frame, "last": frame})
    for left in range(11, -1, -1):
        assert len(page.post("/undo")["state"]["edits"]) == left
    assert page.refused("/undo", None) == "there is nothing to undo"
    for made in range(1, 6):
        assert len(page.post("/redo")["state"]["edits"]) == made
    page.post("/edit", _whole(do="cover", person=1))
    assert page.refused("/redo", None) == "there is nothing to redo"
    assert len(review.saved) == 12 + 12 + 5 + 1 and len(review.saved[-1].done) == 6


def test_what_was_looked_at_is_kept(page: Page, review: Review) -> None:
    assert [one["looked"] for one in page.post("/looked", {"id": "late-2", "looked": True})["state"]["doubts"]] == [
        False,
        True,
        False,
    ]
    assert review.saved[-1].looked_at == ("late-2",)
    page.post("/looked", {"id": "late-2", "looked": False})
    assert review.saved[-1].looked_at == ()
    for wrong in (
        {"id": "none", "looked": True},
        {"id": "late-2"},
        {"id": 3, "looked": True},
        {"id": "late-2", "looked": 1},
        [],
    ):
        page.refused("/looked", wrong)


@pytest.mark.parametrize(
    "edit",
    [
        None,
        [],
        "undo",
        {"do": "forget"},
        {"do": ["show"]},
        _whole(do="cover", person=True),
        _whole(do="cover", person="1"),
        _whole(do="cover", person=1, more=1),
        {"do": "cover", "person": 1, "first": -1, "last": None},
        {"do": "cover", "person": 1, "first": 5, "last": 4},
        {"do": "cover", "person": 1, "first": 0, "last": 30},
        {"do": "cover", "person": 1, "first": 0.5, "last": 3},
        _whole(do="remove", track=77),
        _whole(do="region", box=[1, 2, 3]),
        _whole(do="region", box=[5, 5, 5, 9]),
        _whole(do="region", box=[1e300, 0, 1e301, 5]),
        _whole(do="region", box=[-50, -50, -10, -10]),
        {"do": "cover place", "number": 1, "keys": [], "first": 0, "boxes": [[0, 0, 9, 9]]},
        {"do": "cover place", "number": 1, "keys": [[0, [0, 0, 9, 9]]], "first": 5, "boxes": [[0, 0, 9, 9]]},
        {"do": "cover place", "number": 0, "keys": [[0, [0, 0, 9, 9]]], "first": 0, "boxes": [[0, 0, 9, 9]]},
        {"do": "cover place", "number": 1, "keys": [[29, [0, 0, 9, 9]]], "first": 29, "boxes": [[0, 0, 9, 9]] * 2},
        {"do": "join", "person": 1, "other": 1, "confirmed": False},
        {"do": "join", "person": 1, "other": 2},
        {"do": "region", "box": [0, 0, 10**400, 9], "first": 0, "last": None},
        {"do": "part", "person": 1, "first": 0, "new": 3},
        {"do": "part", "person": 1, "first": 5, "new": 2},
    ],
    ids=str,
)
def test_wrong_edits_change_nothing(untouched: Page, review: Review, edit: Any) -> None:
    review.saved.clear()
    assert len(untouched.refused("/edit", edit).splitlines()) == 1
    assert not review.saved


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b'{"do":NaN}', b"[" * 100_000, b'{"do": 1' + b"0" * 5000 + b"}"])
def test_what_is_no_json_is_refused(untouched: Page, body: bytes) -> None:
    assert untouched.ask("/edit", "POST", body)[0] == 422
    assert untouched.ask("/edit", "POST", b"{}", Content_Type="text/plain")[0] == 422


def test_too_much_is_refused(untouched: Page) -> None:
    status = 0
    try:
        status = untouched.ask("/edit", "POST", b" " * (17 << 20))[0]
    except (BrokenPipeError, ConnectionResetError):
        status = 422  # it was cut off while it was sent
    assert status == 422 and untouched.state()["version"] == 0


def test_an_edit_that_cannot_be_written_is_not_made(review: Review) -> None:
    def full(edits: object) -> None:
        raise OutputError("drawn.edits.json cannot be written: no space left on device")

    desk = review.desk()
    desk._save = full
    with serving(lambda: Open(review.pictures(), desk)) as page:
        _wait(page)
        status, _, told = page.ask("/edit", "POST", _whole(do="cover", person=1))
        assert status == 507 and "no space left" in json.loads(told)["wrong"]
        assert page.state()["edits"] == [] and page.state()["version"] == 0


def test_closing_the_page_lets_go_of_the_original(review: Review) -> None:
    pictures = review.pictures()
    with serving(lambda: Open(pictures, review.desk())) as page:
        _wait(page)
        page.picture("/original/12.jpg")
        assert pictures._recording._cache
        assert page.ask("/closed", "POST")[0] == 204
        assert not pictures._recording._cache


def test_while_it_opens_nothing_else_is_told(review: Review) -> None:
    def read() -> Open:
        time.sleep(1.0)
        return Open(review.pictures(), review.desk())

    with serving(read) as page:
        assert page.state() == {"opening": True, "failed": ""}
        for path in ("/frame/0.jpg", "/original/0.jpg", "/places?first=0&count=1"):
            assert page.ask(path)[0] == 503
        assert page.ask("/undo", "POST")[0] == 503
        _wait(page)
        assert page.picture("/frame/0.jpg").shape == (270, 480, 3)


def test_a_drawn_box_is_followed_to_the_cut(page: Page, review: Review) -> None:
    boxes = {frame: np.array(review.drawn[frame].truths[1].box) for frame in range(30)}
    page.post("/follow", {"keys": [[10, boxes[10].tolist()]]})
    until = time.monotonic() + 10
    while not (told := json.loads(page.ask("/follow")[2]))["done"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert told["first"] == 0 and told["count"] == 20 and told["ends"] == {"before": "cut", "after": "cut"}
    for frame, box in enumerate(told["boxes"]):
        assert np.abs(np.array(box) - boxes[frame]).max() < 0.3 * (boxes[10][2] - boxes[10][0])
    keys = [[10, boxes[10].tolist()]]
    state = page.post("/edit", {"do": "cover place", "number": 1, "keys": keys, "first": 0, "boxes": told["boxes"]})[
        "state"
    ]
    assert state["by_hand"][0]["keys"][0][0] == 10 and state["new_place"] == 2
    assert "cut lies between" in page.refused("/follow", {"keys": [[10, [0, 0, 9, 9]], [25, [0, 0, 9, 9]]]})
    for wrong in (None, {"keys": []}, {"keys": [[99, [0, 0, 9, 9]]]}, {"keys": [[1, [0, 0, 9, 9]], [1, [0, 0, 9, 9]]]}):
        page.refused("/follow", wrong)
