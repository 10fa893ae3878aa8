"""`streamdeid train`: make models/aam.npz, models/gallery.npz and models/CARD.md from photographs."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel, load_model, save_model
from streamdeid.aam.pca import Components
from streamdeid.aam.photographs import LABELS, NEUTRAL, label_rows, pictures_in
from streamdeid.aam.procrustes import align
from streamdeid.aam.reconstruction import ReconstructionError, reconstruction_error
from streamdeid.aam.same_space import in_space_of
from streamdeid.aam.smile import amounts_left_out
from streamdeid.aam.train import Annotate, Sample, TrainingSettings, annotate, identity_of_sample, pairs_of, train
from streamdeid.cli.inputs import make_directory
from streamdeid.cli.train_gender import gender_fact, gender_rule_of, with_rule_anew
from streamdeid.core.atomic_file import check_paths, write_whole
from streamdeid.core.faces import Face
from streamdeid.core.named_files import MODELS, PHOTOGRAPH, TABLE, Named, check_named
from streamdeid.core.shown_text import say
from streamdeid.errors import ExitCode, InputError, SettingsError, StreamdeidError
from streamdeid.runs.named_by_settings import files_of_models
from streamdeid.runs.parts import photograph_detector, still_detector
from streamdeid.surrogates.gallery import UNKNOWN_AGE, Gallery, save_gallery
from streamdeid.surrogates.models import GALLERY, HASHES, MODEL, load_models, write_hashes

DESCRIPTION = """\
Train the appearance model and the gallery from photographs with one face each.

DIR holds sub-directories, one of them called "neutral", with one file per person in each, or neutral photographs only.
From a sub-directory "smiling" it is learnt what a smile does to a face.
An `info.csv` (face_id, face_age, face_gender: male or female, face_eth) gives labels. The photographs themselves enter
no file."""

SMILING = "smiling"
CARD = "CARD.md"
_CARD_HEAD = "# Model card"
GENDER_ROW, GALLERY_ROW, TRAINED_ROW = "gender", "content hash of the gallery", "trained by"
"""Names of the rows of the card that change with the rule for gender."""
_TRAINED = "`streamdeid train --images DIR --out models --source TEXT`"
_ROW = re.compile(r"(?m)^\| (.*?) \| (.*) \|$")
_RULE_ANEW = "; the rule for gender later by `streamdeid train --images DIR --out DIR --rule-for models`"
_PARTS = (MODEL, GALLERY, HASHES)
_ROUNDING = 1e-4
"""Most by which identities of one photograph differ between processors, as a share of the largest entry (float32)."""
_SPLIT = 2014
"""Seed of the split of people for the card's figure on unseen people."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--images", type=Path, required=True, metavar="DIR", help="the photographs")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="where the models go; replaces whole older ones"
    )
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument(
        "--space-of",
        type=Path,
        metavar="DIR",
        help="keep components and donors of these models bit for bit, so that a key gives the faces it gave; refused "
        "when the photographs give another identity space",
    )
    kept.add_argument(
        "--rule-for",
        type=Path,
        metavar="DIR",
        help="learn only the rule for gender, for these models, which stay as they are otherwise, their labels, too; "
        "the photographs must be those of their donors",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace files of the models' names that are no models"
    )
    parser.add_argument(
        "--source", metavar="TEXT", help="origin, licence and consent, for the model card; with --rule-for it stays"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command. Raises InputError and OutputError."""
    neutral, others = photographs(arguments.images)
    if arguments.rule_for is not None and arguments.source is not None:
        raise SettingsError("--source does not go with --rule-for: the card keeps what it says")
    _check_out(arguments, [*neutral, *others])
    with contextlib.closing(still_detector()) as detector:
        detect = _counted(photograph_detector(detector), len(neutral) + len(others))
        if arguments.rule_for is not None:
            paths = rule_anew(arguments.images, arguments.out, detect, arguments.rule_for)
        else:
            source = "not stated" if arguments.source is None else arguments.source
            space: Path | None = arguments.space_of
            paths = train_models(arguments.images, arguments.out, detect, source=source, space=space)
    say(", ".join(str(path) for path in paths))
    return ExitCode.DONE


def _check_out(arguments: argparse.Namespace, pictures: Sequence[Path]) -> None:
    """Raise SettingsError if the models would replace a photograph, or files that are not a whole set of models."""
    out: Path = arguments.out
    made = [out / name for name in (*_PARTS, CARD)]
    named = [Named(PHOTOGRAPH, path) for path in pictures] + [Named(TABLE, arguments.images / LABELS)]
    for kept in filter(None, (arguments.space_of, arguments.rule_for)):
        named += files_of_models(kept)
    check_named("train", [*named, *(Named(MODELS, path) for path in made)])
    again = arguments.overwrite or _is_trained(out)
    for path in made if out.is_dir() else ():
        check_paths(path, None, again)


def _is_trained(out: Path) -> bool:
    """Whether the directory holds the whole result of an earlier training."""
    try:
        load_models(out)
        return (out / CARD).read_text(encoding="utf-8").startswith(_CARD_HEAD)
    except (StreamdeidError, ValueError, OSError):
        return False


def _counted(detect: Annotate, total: int) -> Callable[[NDArray[np.uint8]], Sequence[Face]]:
    """The same function, which also shows on a terminal how many photographs are done."""
    done = 0

    def counted(image: NDArray[np.uint8]) -> Sequence[Face]:
        nonlocal done
        done += 1
        if sys.stderr.isatty() and done <= total:  # what is looked at after that are variations
            say(f"photograph {done} of {total} ", to=sys.stderr, before="\r", end="")
            if done == total:
                say("training, which takes some minutes", to=sys.stderr, before="\r")
        return detect(image)

    return counted


@dataclass(frozen=True)
class Donor:
    """One person of the training set, with file stem and labels."""

    name: str
    age: int = UNKNOWN_AGE
    gender: str = ""
    ethnicity: str = ""


def photographs(directory: Path) -> tuple[list[Path], list[Path]]:
    """The neutral photographs of a training set, and all others.

    The directory has either sub-directories, one of them called `neutral`, with a file of the same name for the same
    person in each, or neutral photographs only. Raises InputError if there are fewer than ten neutral photographs.
    """
    if not directory.is_dir():
        raise InputError(f"{directory} is not a directory of photographs")
    neutral_directory = directory / NEUTRAL if (directory / NEUTRAL).is_dir() else directory
    neutral = pictures_in(neutral_directory)
    others = [
        path
        for folder in sorted(directory.iterdir())
        if folder.is_dir() and folder != neutral_directory
        for path in pictures_in(folder)
    ]
    if len(neutral) < 10:
        raise InputError(f"{neutral_directory} holds {len(neutral)} photographs; training needs at least 10")
    return neutral, others


def labels(directory: Path) -> dict[str, Donor]:
    """Labels by file stem from `info.csv` (face_id, face_age, face_gender, face_eth); empty without such a file."""
    return {
        stem: Donor(
            stem,
            int(row["face_age"]) if (row.get("face_age") or "").isdigit() else UNKNOWN_AGE,
            row.get("face_gender") or "",
            row.get("face_eth") or "",
        )
        for stem, row in label_rows(directory).items()
    }


def train_models(
    directory: Path,
    out: Path,
    detect: Annotate,
    *,
    source: str = "not stated",
    settings: TrainingSettings = TrainingSettings(),
    space: Path | None = None,
) -> tuple[Path, Path]:
    """Train on a directory and write model, gallery, hashes and card; return the paths of model and gallery.

    source: origin, licence and consent of the photographs, for the card. space: a directory of models whose identity
    space is kept. Raises InputError if the photographs give another identity space.
    """
    kept = None if space is None else load_models(space)
    neutral, others = photographs(directory)
    samples = {path: annotate(path, detect) for path in [*neutral, *others]}
    make_directory(out)
    known = labels(directory)
    donors = [known.get(path.stem, Donor(path.stem)) for path in neutral]
    genders = [donor.gender for donor in donors]
    trained = train(list(samples.values()), settings, smiles_among(list(samples), neutral))
    trained = trained if kept is None else in_space_of(kept.fitting.model, trained)

    def gallery_for(model: AppearanceModel) -> Gallery:
        rule = gender_rule_of(samples, neutral, genders, model, detect)
        gallery = replace(gallery_of([samples[path] for path in neutral], donors, model), gender_rule=rule)
        return gallery if kept is None else same_donors(kept.gallery, gallery)

    model, gallery, gallery_hash = _write_models(out, trained, gallery_for)
    unseen = held_out(samples, neutral, settings)
    facts = [
        ("source of the photographs", source),
        ("photographs", f"{len(samples)}, and their mirror images"),
        ("donors in the gallery", f"{len(donors)} (identity vectors and labels; no pictures)"),
        (TRAINED_ROW, _TRAINED),
        ("annotated by", "the run-time landmarker itself"),
        *model_facts(model, settings),
        ("content hash of the model", f"`{model.sha256}`"),
        (GALLERY_ROW, f"`{gallery_hash}`"),
        ("unseen people, neutral", f"texture error {unseen.texture:.2f} grey levels (mean face: {unseen.raw:.2f}), "
         f"shape error {unseen.shape:.2f} pixels of the frame; a fifth of the people held out of a training"),
        (GENDER_ROW, gender_fact(gallery.gender_rule, genders)),
        ("smile", smile_fact(samples, smiles_among(list(samples), neutral), model)),
    ]  # fmt: skip
    write_whole(out / CARD, card(facts).encode("utf-8", "backslashreplace"), overwrite=True)
    return out / MODEL, out / GALLERY


def rule_anew(directory: Path, out: Path, detect: Annotate, known: Path) -> tuple[Path, Path]:
    """Learn the rule for gender alone, from a directory with photographs of the donors of the models in `known`. Write
    these with it, and return the paths of model and gallery. Raises InputError where the photographs are of others."""
    kept = load_models(known)
    try:
        told = (known / CARD).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {known / CARD}, the card of these models") from error
    rows = dict(_ROW.findall(told))
    if not {GENDER_ROW, GALLERY_ROW, TRAINED_ROW} <= rows.keys():
        raise InputError(f"{known / CARD} is not the card of trained models")
    neutral, others = photographs(directory)
    samples = {path: annotate(path, detect) for path in [*neutral, *others]}
    made = with_rule_anew(kept.gallery, kept.fitting.model, samples, neutral, detect)
    make_directory(out)
    _, gallery, gallery_hash = _write_models(out, kept.fitting.model, lambda _: made)
    rows[GENDER_ROW] = gender_fact(gallery.gender_rule, gallery.gender.tolist())
    rows[GALLERY_ROW] = f"`{gallery_hash}`"
    rows[TRAINED_ROW] = rows[TRAINED_ROW].removesuffix(_RULE_ANEW) + _RULE_ANEW
    told = _ROW.sub(lambda row: f"| {row[1]} | {rows[row[1]]} |", told)
    write_whole(out / CARD, told.encode("utf-8", "backslashreplace"), overwrite=True)
    return out / MODEL, out / GALLERY


def _write_models(
    out: Path, trained: AppearanceModel, gallery_for: Callable[[AppearanceModel], Gallery]
) -> tuple[AppearanceModel, Gallery, str]:
    """Write a model, the gallery that is made for it, and their hashes; return both and the gallery's hash."""
    with tempfile.TemporaryDirectory(dir=out, prefix=".training-") as name:
        made = Path(name)
        save_model(made / MODEL, trained)
        model = load_model(made / MODEL)  # the model as it will be used: the file stores the basis in 16 bits
        gallery = gallery_for(model)
        gallery_hash = save_gallery(made / GALLERY, gallery)
        write_hashes(made, {MODEL: model.sha256, GALLERY: gallery_hash})
        # Last and all together, so that files and hashes of two trainings are mixed for as short a time as possible.
        for part in _PARTS:
            os.replace(made / part, out / part)
    return model, gallery, gallery_hash


def held_out(
    samples: Mapping[Path, Sample], neutral: Sequence[Path], settings: TrainingSettings
) -> ReconstructionError:
    """Error on the neutral photographs of a fifth of the people, for a model trained on the other people only."""
    names = sorted(path.stem for path in neutral)
    unseen = set(np.random.default_rng(_SPLIT).permutation(names)[: max(1, len(names) // 5)])
    model = train([s for path, s in samples.items() if path.stem not in unseen], settings)
    return reconstruction_error(model, [samples[path] for path in neutral if path.stem in unseen])


def smiles_among(paths: Sequence[Path], neutral: Sequence[Path]) -> list[tuple[int, int]]:
    """For each person with a smiling photograph: the indices of the neutral and of the smiling photograph."""
    number = {path: i for i, path in enumerate(paths)}
    smiling = {path.stem: path for path in paths if path.parent.name == SMILING}
    return [(number[path], number[smiling[path.stem]]) for path in neutral if path.stem in smiling]


def smile_fact(samples: Mapping[Path, Sample], smiles: Sequence[tuple[int, int]], model: AppearanceModel) -> str:
    """Text for the card: how well the rule measures the smile of people whom it was not learnt from."""
    if len(smiles) < 2:
        return "not learnt: no smiling photographs"
    shapes = np.stack([align(each.points, model.mean_shape)(each.points) for each in samples.values()])
    components = Components(model.mean_shape.ravel(), model.shape_basis, model.shape_variances)
    rest, smile = amounts_left_out(*pairs_of(shapes, smiles), model.mean_shape, components, model.frame_size[0])
    wrong = int((rest > 0.5).sum() + (smile <= 0.5).sum())
    return (
        f"amount at rest {rest.mean():.2f} ± {rest.std():.2f} (95th percentile {np.quantile(rest, 0.95):.2f}), smiling "
        f"{smile.mean():.2f} ± {smile.std():.2f}; {wrong} of {2 * len(rest)} on the wrong side of 1/2; of {len(rest)} "
        "people, each left out of the rule that judged them"
    )


def same_donors(old: Gallery, new: Gallery) -> Gallery:
    """The new gallery with the old one's identities. Raises InputError if the two have other donors, or identities that
    differ by more than rounding."""
    same = old.identities.shape == new.identities.shape and all(
        np.array_equal(getattr(old, name), getattr(new, name)) for name in ("gender", "age", "ethnicity")
    )
    if not same or np.abs(old.identities - new.identities).max() > _ROUNDING * np.abs(old.identities).max():
        raise InputError("these photographs give other donors than the models whose identity space is to be kept")
    return replace(new, identities=old.identities)


def gallery_of(neutral: Sequence[Sample], donors: Sequence[Donor], model: AppearanceModel) -> Gallery:
    """The gallery of the identity vectors of neutral photographs, with their donors' labels."""
    identities = np.stack([identity_of_sample(each, model) for each in neutral])
    return Gallery(
        identities,
        np.array([d.gender for d in donors]),
        np.array([d.age for d in donors], np.int64),
        np.array([d.ethnicity for d in donors]),
        model.sha256,
    )


def model_facts(model: AppearanceModel, settings: TrainingSettings) -> list[tuple[str, str]]:
    """The sizes of a model, for its card."""
    width, height = model.frame_size
    shape, texture = len(model.shape_variances), len(model.texture_variances)
    return [
        ("frame", f"{width} x {height} pixels, {len(model.mean_texture)} inside the mesh, "
         f"{len(model.triangles)} triangles"),
        ("components", f"{shape} of shape, {texture} of texture ({settings.share:.0%} of the variance, at most "
         f"{settings.most_texture} of texture)"),
        ("fit", f"{model.fit_width} pixels wide, grey, {len(model.fit_variances)} components"),
    ]  # fmt: skip


def card(facts: Sequence[tuple[str, str]]) -> str:
    """The model card in Markdown."""
    rows = "\n".join(f"| {name} | {value} |" for name, value in facts)
    return f"""{_CARD_HEAD}

Appearance model `{MODEL}` and gallery `{GALLERY}`, written by `streamdeid train`. `{HASHES}` names their hashes.
They hold means, components and parameter vectors: no photograph of a person.

| | |
|---|---|
{rows}
"""
