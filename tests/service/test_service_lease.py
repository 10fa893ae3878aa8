"""The lease: whatever is late, lost or counted by another clock, no camera runs when another one may."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamdeid.service.lease import ENCODER, ENDING, FREE, LEASE, Lease, LeaseClaim

SECONDS = st.floats(0, 30, allow_nan=False)


def test_a_camera_that_is_asked_runs_on() -> None:
    lease = Lease()
    lease.answered(100.0)
    assert lease.asked(101.0) == 100.0 + LEASE and not lease.over(101.0)
    lease.answered(101.5)
    assert lease.asked(109.0) == 101.5 + LEASE
    assert not lease.over(101.4 + LEASE) and lease.over(101.5 + LEASE)
    assert lease.asked(200.0) is None and lease.over(0.0), "what is over is over"


def test_nothing_begins_before_a_hello_or_long_after_it() -> None:
    assert Lease().asked(1.0) is None
    lease = Lease()
    lease.answered(0.0)
    assert not lease.over(1000.0), "nothing runs, so nothing has to end"
    assert lease.asked(LEASE) is None and lease.asked(0.1) is None


def test_nobody_waits_for_what_never_began() -> None:
    assert LeaseClaim().free_at == 0.0


@given(
    offset=st.floats(-1e6, 1e6),
    rounds=st.lists(st.tuples(SECONDS, SECONDS, SECONDS), min_size=1, max_size=12),
    lost=st.tuples(st.booleans(), SECONDS),
)
def test_no_camera_runs_when_another_may(
    offset: float, rounds: list[tuple[float, float, float]], lost: tuple[bool, float]
) -> None:
    """rounds: seconds under way, at work, and under way back; lost: the last question, which may arrive at any time.

    The clock of the camera's machine is another one.
    """
    lease, claim, now, until = Lease(), LeaseClaim(), 0.0, None
    lease.answered(now + offset)  # hello
    for under_way, at_work, back in rounds:
        claim.asking(now)
        now += under_way
        if (granted := lease.asked(now + offset)) is None:
            break
        until = granted - offset
        now += at_work
        lease.answered(now + offset)
        now += back
    arrives, late = lost
    if arrives and until is not None:
        claim.asking(now)
        granted = lease.asked(now + late + offset)
        until = until if granted is None else granted - offset
    if until is not None:
        # A millionth for what numbers of this size lose.
        assert until + ENDING + ENCODER <= claim.free_at + 1e-6
    assert FREE == LEASE + ENDING + ENCODER
