"""The cameras' numbers for Prometheus. Counters continue when a camera's process is replaced."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

from streamdeid.core.status import LATENCY_BOUNDS
from streamdeid.service.camera_report import STATES, CameraReport

Value = Callable[[CameraReport], float | None]
COUNTERS: dict[str, tuple[str, Value]] = {
    "frames_received": ("Pictures decoded.", lambda r: r.totals.source.frames),
    "frames_dropped": ("Pictures left out unfiltered, because newer ones had come.", lambda r: r.totals.source.dropped),
    "frames_spared": (
        "Pictures left out unfiltered, because no more are wanted in a second.",
        lambda r: r.totals.source.spared,
    ),
    "frames_filtered": ("Pictures filtered.", lambda r: r.totals.filtered),
    "frames_withheld": ("Pictures the filter was in doubt about, which never left.", lambda r: r.totals.withheld),
    "frames_repeated": ("Times a filtered picture left again.", lambda r: r.totals.repeated),
    "placeholders": ("Times a placeholder left instead of a picture.", lambda r: r.totals.placeholders),
    "frames_written": ("Pictures encoded and sent.", lambda r: r.totals.sink.written),
    "frames_unsent": ("Filtered pictures the receiver was too slow for.", lambda r: r.totals.sink.unsent),
    "source_reconnects": ("Times the camera was opened again.", lambda r: max(0, r.totals.source.connections - 1)),
    "sink_reconnects": ("Times the output was opened again.", lambda r: max(0, r.totals.sink.openings - 1)),
    "source_damaged": ("Places where something was missing or damaged.", lambda r: r.totals.source.damaged),
    "camera_restarts": ("Times the camera's process was started again.", lambda r: r.restarts),
    "cpu_seconds": ("CPU time of the camera's processes.", lambda r: r.totals.cpu_seconds),
}
"""Counters of each camera by name: the help text, and the function that gets the value from a report."""
GAUGES: dict[str, tuple[str, Value]] = {
    "ready": ("Whether a real frame was filtered in the last seconds.", lambda r: r.ready),
    "source_connected": ("Whether the camera is connected.", lambda r: r.totals.source.connected),
    "sink_connected": ("Whether the output is connected.", lambda r: r.totals.sink.connected),
    "frame_age_seconds": ("Seconds since a fresh filtered frame left.", lambda r: r.frame_age),
    "frames_per_second": ("Filtered frames per second over the last seconds.", lambda r: r.totals.rate),
    "queue_frames": ("Frames that wait for the filter.", lambda r: r.totals.source.queue),
    "people": ("Persons told apart.", lambda r: r.totals.people),
    "memory_bytes": ("Resident memory of the camera's processes.", lambda r: r.totals.memory_bytes),
}
_PREFIX = "streamdeid_"


@dataclass(frozen=True, eq=False)
class _Collected:
    """A collector with the method `collect` that `generate_latest` needs."""

    families: Sequence[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.families


def metrics_text(reports: Sequence[CameraReport], begun: float, reloads: dict[str, int]) -> bytes:
    """All metrics in Prometheus' text format. begun: start of the service, seconds since 1970. reloads: by result."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected([*_of_service(reports, begun, reloads), *_of_cameras(reports)]))
    return generate_latest(registry)


def _of_service(reports: Sequence[CameraReport], begun: float, reloads: dict[str, int]) -> Iterator[Metric]:
    labels = ["version", "python"]
    build = GaugeMetricFamily(f"{_PREFIX}build_info", "The program.", labels=labels)
    build.add_metric([metadata.version("streamdeid"), platform.python_version()], 1)
    yield build
    yield GaugeMetricFamily(f"{_PREFIX}start_time_seconds", "When the service began, since 1970.", value=begun)
    yield GaugeMetricFamily(f"{_PREFIX}cameras", "Cameras in the file.", value=len(reports))
    result = CounterMetricFamily(f"{_PREFIX}reloads", "Times the file was read again.", labels=["result"])
    for name, count in reloads.items():
        result.add_metric([name], count)
    yield result


def _of_cameras(reports: Sequence[CameraReport]) -> Iterator[Metric]:
    for name, (text, value) in COUNTERS.items():
        yield _filled(CounterMetricFamily(_PREFIX + name, text, labels=["camera"]), reports, value)
    for name, (text, value) in GAUGES.items():
        yield _filled(GaugeMetricFamily(_PREFIX + name, text, labels=["camera"]), reports, value)
    state = GaugeMetricFamily(f"{_PREFIX}camera_state", "1 for the state it is in.", labels=["camera", "state"])
    node = GaugeMetricFamily(
        f"{_PREFIX}camera_node", "1 for the machine of a cluster that it runs on.", labels=["camera", "node"]
    )
    faces = CounterMetricFamily(f"{_PREFIX}faces", "Places covered, by level.", labels=["camera", "level"])
    latency = HistogramMetricFamily(
        f"{_PREFIX}latency_seconds", "From the arrival of a frame to the end of its sending.", labels=["camera"]
    )
    for report in reports:
        for each in STATES:
            state.add_metric([report.name, each], each == report.state)
        if report.node is not None:
            node.add_metric([report.name, report.node], 1)
        for level, count in report.totals.faces.items():
            faces.add_metric([report.name, level], count)
        latency.add_metric([report.name], _buckets(report.totals.latency), report.totals.latency_sum)
    yield from (state, node, faces, latency)


def _filled(
    family: CounterMetricFamily | GaugeMetricFamily, reports: Sequence[CameraReport], value: Value
) -> CounterMetricFamily | GaugeMetricFamily:
    for report in reports:
        number = value(report)
        if number is not None:
            family.add_metric([report.name], number)
    return family


def _buckets(counts: Sequence[int]) -> list[tuple[str, float]]:
    """The buckets of a histogram with cumulative counts, as Prometheus needs them."""
    names = [*(floatToGoString(bound) for bound in LATENCY_BOUNDS), "+Inf"]
    return [(name, float(sum(counts[: place + 1]))) for place, name in enumerate(names)]
