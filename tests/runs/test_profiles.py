"""Profiles: one set of values for command line, cameras file, library and reference; what is given beside one wins."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

import streamdeid
from streamdeid.cli import filter as filter_command
from streamdeid.cli.live_options import live_settings_of
from streamdeid.core.settings_table import table
from streamdeid.errors import SettingsError
from streamdeid.protect.region import read_region
from streamdeid.runs.live_parts import open_live
from streamdeid.runs.profiles import EDGE, PROFILES, profile_of, profile_reference
from streamdeid.service.cameras_file import read_cameras
from streamdeid.settings import FACES, Settings
from streamdeid.video.live.settings import LiveSettings

RTSP = ("rtsp://camera.invalid/1", "rtsp://server.invalid/1")


def command(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    filter_command.add_arguments(parser)
    return parser.parse_args([*RTSP, *words])


@pytest.mark.parametrize("name", PROFILES)
def test_every_value_is_a_setting_that_differs_from_the_default_and_none_by_which_faces_are_found(name: str) -> None:
    one = PROFILES[name]
    for kind, values in ((Settings, one.settings), (LiveSettings, one.live)):
        rows = table(kind)
        made: Any = kind(**values)
        for key, value in values.items():
            assert getattr(made, key) == value != rows[key].default
            assert rows[key].group != FACES, "a profile must not decide what is found and covered"
            assert f"`{key}`" in profile_reference()


def test_the_command_line_takes_it_and_options_win() -> None:
    edge = PROFILES[EDGE]
    plain = command("--profile", EDGE)
    settings, live = filter_command.settings_of(plain, lookahead=0.0), live_settings_of(plain)
    assert settings == Settings(lookahead=0.0, **edge.settings) and live == LiveSettings(**edge.live)
    own = command("--preset", "medium", "--most-rate", "5", "--profile", EDGE)
    assert filter_command.settings_of(own, lookahead=0.0).preset == "medium"
    assert live_settings_of(own) == LiveSettings(most_rate=5.0, most_lines=edge.live["most_lines"])


def test_a_recording_takes_what_is_not_for_live_streams(tmp_path: Path) -> None:
    arguments = argparse.ArgumentParser()
    filter_command.add_arguments(arguments)
    given = arguments.parse_args([str(tmp_path / "a.mp4"), "--profile", EDGE])
    settings = filter_command.settings_of(given, lookahead=1.0)
    assert settings == Settings(**PROFILES[EDGE].settings)


def _cameras(directory: Path, defaults: str, camera: str) -> Any:
    file = directory / "cameras.toml"
    source, output = RTSP
    text = f'[defaults]\n{defaults}\n[[camera]]\nname = "a"\nsource = "{source}"\noutput = "{output}"\n{camera}\n'
    file.write_text(text, encoding="utf-8")
    return read_cameras(file).cameras[0]


def test_the_cameras_file_takes_it_for_all_and_for_one(tmp_path: Path) -> None:
    edge = PROFILES[EDGE]
    for defaults, camera in ((f'profile = "{EDGE}"', ""), ("", f'profile = "{EDGE}"')):
        found = _cameras(tmp_path, defaults, camera)
        assert found.settings == Settings(lookahead=0.0, **edge.settings)
        assert (found.live.most_rate, found.live.most_lines) == (edge.live["most_rate"], edge.live["most_lines"])
        assert found.live.keep_trying
    found = _cameras(tmp_path, 'preset = "slow"', f'profile = "{EDGE}"\nmost_lines = 240')
    assert found.settings.preset == "slow" and found.live.most_lines == 240 and found.live.most_rate == 15.0


def test_the_library_takes_it() -> None:
    assert streamdeid.profile_settings(EDGE, method="blackout") == Settings(method="blackout", preset="ultrafast")


def test_an_unknown_one_is_refused_everywhere_in_one_line(tmp_path: Path) -> None:
    line = "unknown profile 'egde'; choose one of edge"
    with pytest.raises(SettingsError, match=line):
        filter_command.settings_of(command("--profile", "egde"), lookahead=0.0)
    with pytest.raises(SettingsError, match=line):
        _cameras(tmp_path, 'profile = "egde"', "")
    with pytest.raises(SettingsError, match=line):
        streamdeid.profile_settings("egde")
    assert dict(profile_of(None).settings) == {} == dict(profile_of(None).live)


def test_an_area_in_pixels_of_a_picture_that_is_made_smaller_is_refused(tmp_path: Path) -> None:
    line = "region 1,2,30,40 must be in percent"
    small = LiveSettings(most_lines=480)
    with pytest.raises(SettingsError, match=line):
        open_live(*RTSP, Settings(regions=(read_region("1,2,30,40"),)), small)
    with pytest.raises(SettingsError, match=line):
        _cameras(tmp_path, f'profile = "{EDGE}"', 'regions = ["1,2,30,40"]')
    found = _cameras(tmp_path, f'profile = "{EDGE}"', 'regions = ["0,90%,100%,10%"]')
    assert found.live.most_lines == 480
