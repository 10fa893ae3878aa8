"""How well the model rebuilds people it never saw, by number of components and by width: the sizes are chosen by this.

    python -m benchmarks reconstruction [--images DIR] [--widths 64 96 128 160 200] [--seed 2014] [--json]

A fifth of the people is held out once, by person; a model of each width is trained on all photographs of the others
and the neutral photographs of those held out are projected onto it and back. Errors are root mean squares: of the
texture in grey levels (without hair and in even light, as the model has it), of the shape in pixels of a frame 200
pixels wide. Size is that of the model file. Decode is the CPU time of a texture from its parameters.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.models.photographs import Annotator, held_out
from streamdeid.aam.appearance_model import AppearanceModel, save_model
from streamdeid.aam.reconstruction import reconstruction_error
from streamdeid.aam.train import Sample, TrainingSettings, train
from streamdeid.errors import StreamdeidError

COMPONENTS = (10, 20, 40, 60, 80, 100, 120)
_DECODES = 15


def cut(model: AppearanceModel, components: int) -> AppearanceModel:
    """The model with its first texture components alone."""
    return replace(
        model, texture_basis=model.texture_basis[:components], texture_variances=model.texture_variances[:components]
    )


def decode_ms(model: AppearanceModel) -> float:
    """Median CPU milliseconds of decoding a surrogate, once its basis is in memory."""
    rng = np.random.default_rng(1)
    vector = rng.standard_normal(len(model.variances)) * np.sqrt(model.variances)
    model.decode(vector)
    spent = []
    for _ in range(_DECODES):
        begun = time.process_time()
        model.decode(vector)
        spent.append(1000 * (time.process_time() - begun))
    return float(np.median(spent))


def rows_of(width: int, training: Sequence[Sample], unseen: Sequence[Sample]) -> list[dict[str, object]]:
    """One row for each number of components at a width."""
    whole = train(training, TrainingSettings(width=width, share=1.0, most_texture=10**6))
    most = len(whole.texture_variances)
    rows: list[dict[str, object]] = []
    for components in [*(c for c in COMPONENTS if c < most), most]:
        model = cut(whole, components)
        error = reconstruction_error(model, unseen)
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "model.npz"
            save_model(path, model)
            size = path.stat().st_size / 1e6
        kept = float(model.texture_variances.sum() / whole.texture_variances.sum())
        rows.append(
            {
                "width": width,
                "components": f"all ({most})" if components == most else components,
                "variance kept": kept,
                "texture error": error.texture,
                "mean face alone": error.raw,
                "MB": size,
                "decode ms": decode_ms(model),
            }
        )
        print(f"width {width}, {components} components", file=sys.stderr)
    return rows


def shape_rows(training: Sequence[Sample], unseen: Sequence[Sample]) -> list[dict[str, object]]:
    """Shape error by number of shape components, in pixels of a frame 200 pixels wide."""
    model = train(training, TrainingSettings(width=64, share=1.0, most_texture=2))
    rows: list[dict[str, object]] = []
    for components in (5, 10, 15, 20, 30, 40, 60, len(model.shape_variances)):
        fewer = replace(
            model, shape_basis=model.shape_basis[:components], shape_variances=model.shape_variances[:components]
        )
        kept = float(fewer.shape_variances.sum() / model.shape_variances.sum())
        error = reconstruction_error(fewer, unseen).shape * 200 / 64
        rows.append({"shape components": components, "variance kept": kept, "shape error": error})
    return rows


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    root = Path(__file__).parents[2]
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--images", type=Path, default=root.parent / "shared" / "faces" / "london")
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 96, 128, 160, 200])
    parser.add_argument("--seed", type=int, default=2014)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    try:
        split = held_out(given.images, given.seed, Annotator())
    except StreamdeidError as error:
        parser.error(str(error))
    shapes = shape_rows(split.training, split.unseen)
    rows = [row for width in given.widths for row in rows_of(width, split.training, split.unseen)]
    if given.json:
        print(as_json({"people": split.people, "seed": given.seed, "texture": rows, "shape": shapes}))
        return 0
    print(f"Trained on {split.people[0]} people, tested on {split.people[1]} others (seed {given.seed})\n")
    for table in (rows, shapes):
        print(markdown(list(table[0]), [list(row.values()) for row in table]) + "\n")
    return 0
