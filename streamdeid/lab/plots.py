"""Plots of the laboratory, as PNG files: the only module that imports matplotlib, of the extra `evaluation`.

Figures are drawn by the object interface, without pyplot and its global state, with matplotlib's own defaults whatever
the user has configured, and without date or version, so that equal figures give equal files.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.errors import SettingsError
from streamdeid.lab.tables import write_result

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError as missing:
    raise SettingsError("the laboratory draws with matplotlib: pip install 'streamdeid[evaluation]'") from missing

_SIZE = (7.0, 4.2)
"""Inches."""
_DOTS = 100
"""Per inch."""


def line_plot(
    path: Path,
    title: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    log_x: bool = False,
) -> None:
    """Write curves, by name their x and y values, as a PNG file of 700 x 420 pixels.

    Values that are not finite leave gaps, as do x values of zero and below with log_x. Raises OutputError when the file
    cannot be written, ValueError for x and y of different lengths.
    """

    def draw(axes: Axes) -> None:
        for name, (x, y) in series.items():
            axes.plot(np.asarray(x, np.float64), np.asarray(y, np.float64), marker="o", markersize=3.5, label=name)
        if log_x:
            axes.set_xscale("log")

    _write(path, title, x_label, y_label, draw)


def histogram_plot(
    path: Path, title: str, x_label: str, series: Mapping[str, NDArray[np.generic]], bins: int = 40
) -> None:
    """Write histograms over common bins as a PNG file of 700 x 420 pixels; heights are shares of each series.

    Values that are not finite are left out; a series without any other is named in the legend as empty. Raises
    OutputError when the file cannot be written.
    """
    finite = {name: _finite(values) for name, values in series.items()}
    edges = np.histogram_bin_edges(np.concatenate([np.empty(0), *finite.values()]), bins)

    def draw(axes: Axes) -> None:
        for name, values in finite.items():
            heights = np.histogram(values, edges)[0] / max(len(values), 1)
            axes.stairs(heights, edges, fill=True, alpha=0.5, label=name if len(values) else f"{name} (empty)")

    _write(path, title, x_label, "share", draw)


def _finite(values: NDArray[np.generic]) -> NDArray[np.float64]:
    flat = np.asarray(values, np.float64).ravel()
    return np.asarray(flat[np.isfinite(flat)])


def _write(path: Path, title: str, x_label: str, y_label: str, draw: Callable[[Axes], None]) -> None:
    """Draw one pair of axes and write the file. Raises OutputError."""
    picture = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        figure = Figure(figsize=_SIZE, dpi=_DOTS, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        draw(axes)
        axes.set_title(title)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.grid(visible=True, alpha=0.3)
        if axes.get_legend_handles_labels()[1]:
            axes.legend()
        canvas.print_png(picture, metadata={"Software": None})
    write_result(path, picture.getvalue())
