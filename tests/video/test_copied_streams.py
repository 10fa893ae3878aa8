"""Sound and subtitles that are copied: the sound bit for bit, and nothing of who is in it."""

from __future__ import annotations

import base64
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.video.files.copied_streams import CleanCopy
from streamdeid.video.files.joined import join
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.sound_headers import Header, clean_header, clean_packet
from streamdeid.video.files.source import FileSource
from streamdeid.video.files.spliced import NotSplicedError, check_copyable
from streamdeid.video.files.subtitle_text import CleanText, why_not
from tests.synthetic_video import encode, packets

FACE = b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(range(256)) * 8 + b"\xff\xd9"
"""What begins and ends as a JPEG does; nobody's."""
WORDS = (b"Jane", b"JFIF", base64.b64encode(FACE)[20:60], b"/home/jane", b"51.5074")


def with_stream(path: Path, source: Path, make: Any) -> Path:
    """A file with the video of another, and a stream that `make(output)` adds and yields packets of."""
    with av.open(str(source)) as given, av.open(str(path), "w") as output:
        video: Any = output.add_stream_from_template(given.streams.video[0])
        rest = make(output)
        more = next(rest)
        for packet in given.demux(video=0):
            if packet.size:
                packet.stream = video
                output.mux(packet)
        for packet in rest:
            packet.stream = more
            output.mux(packet)
    return path


def vorbis(output: Any) -> Any:
    """Sound whose comment header names somebody and shows the face."""
    track = output.add_stream("vorbis", rate=48000, options={"strict": "experimental"})
    track.codec_context.layout = "stereo"
    track.codec_context.open()
    header = track.codec_context.extradata
    at, lengths = 1, []
    for _ in range(2):
        lengths.append(header[at])
        at += 1
    first, setup = header[at : at + lengths[0]], header[at + sum(lengths) :]
    notes = [b"ARTIST=Jane Doe", b"LOCATION=51.5074", b"METADATA_BLOCK_PICTURE=" + base64.b64encode(FACE)]
    comment = b"\x03vorbis" + struct.pack("<I", 4) + b"Jane" + struct.pack("<I", len(notes))
    comment += b"".join(struct.pack("<I", len(note)) + note for note in notes) + b"\x01"
    lacing = bytes([len(first)]) + b"\xff" * (len(comment) // 255) + bytes([len(comment) % 255])
    track.codec_context.extradata = b"\x02" + lacing + first + comment + setup
    yield track
    step = track.codec_context.frame_size or 1024
    for start in range(0, 48000, step):
        wave = (0.2 * np.sin(np.arange(start, start + step) / 20)).astype(np.float32)[None].repeat(2, axis=0)
        frame = av.AudioFrame.from_ndarray(wave, format="fltp", layout="stereo")
        frame.sample_rate, frame.pts, frame.time_base = 48000, start, Fraction(1, 48000)
        yield from track.encode(frame)
    yield from track.encode(None)


ASS = """\
[Script Info]
Title: Jane Doe at home
Original Script: Jane
Video File: /home/jane/holiday.mp4
ScriptType: v4.00+
PlayResX: 384
PlayResY: 288

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, Bold, Italic, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,20,&H00FFFFFF,0,0,2,10,10,10,1
Style: Jane,Arial,20,&H00FF00FF,-1,0,2,10,10,10,1

[Fonts]
fontname: Jane.ttf
%s

[Graphics]
filename: Jane.jpg
%s

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,Jane lives at 51.5074
Dialogue: 0,0:00:00.10,0:00:00.50,Jane,Jane Doe,0,0,0,Jane,{\\i1}Good{\\i0} morning{this is Jane}.
Dialogue: 0,0:00:00.55,0:00:00.90,Default,,0,0,0,,{\\p1}m 0 0 l 100 0 100 100 0 100{\\p0}
""" % ((base64.b64encode(FACE).decode(),) * 2)


def filtered(source: Path, target: Path, **wishes: Any) -> FileSink:
    """Send a file through the sink."""
    reader = FileSource(source)
    with FileSink(target, reader.info, **wishes) as sink:
        for frame in reader:
            sink.write(DeidentifiedFrame(frame.planes, frame.time, frame.index))
    return sink


def nothing_of_anybody(path: Path) -> None:
    """No word and no picture of the person is left in a file."""
    data = path.read_bytes()
    for word in WORDS:
        assert word not in data, word


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", ["b.mkv", "b.webm"])
def test_comments_and_a_picture_in_a_vorbis_header_stay_behind(name: str, keep: bool, tmp_path: Path) -> None:
    source = with_stream(tmp_path / "a.mkv", encode(tmp_path / "v.mp4"), vorbis)
    assert all(word in source.read_bytes() for word in (WORDS[0], WORDS[2], WORDS[4]))
    sink = filtered(source, tmp_path / name, keep_metadata=keep)
    nothing_of_anybody(tmp_path / name)
    assert sink.dropped_streams == ()
    assert len(sink.dropped_parts) == 1 and "audio stream 1 (vorbis): 3 comments" in sink.dropped_parts[0]
    before, after = packets(source, "audio")[0], packets(tmp_path / name, "audio")[0]
    assert [payload for payload, _ in before] == [payload for payload, _ in after] and len(after) > 20
    with av.open(str(tmp_path / name)) as container:
        assert sum(frame.samples for frame in container.decode(audio=0)) >= 47000


def test_of_ass_only_what_is_shown_is_copied(tmp_path: Path) -> None:
    (tmp_path / "a.ass").write_text(ASS)
    source = encode(tmp_path / "a.mkv", subtitles=tmp_path / "a.ass")
    assert b"Jane Doe" in source.read_bytes() and b"Graphics" in source.read_bytes()
    sink = filtered(source, tmp_path / "b.mkv")
    nothing_of_anybody(tmp_path / "b.mkv")
    with av.open(str(tmp_path / "b.mkv")) as container:
        header = bytes(container.streams.subtitles[0].codec_context.extradata).decode().splitlines()
    assert [line for line in header if line] == [
        "[Script Info]",
        "ScriptType: v4.00+",
        "PlayResX: 384",
        "PlayResY: 288",
        "[V4+ Styles]",
        *ASS.splitlines()[9:11],
        "Style: Style 2,Arial,20,&H00FF00FF,-1,0,2,10,10,10,1",
        "[Events]",
        "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text",
    ]
    assert [payload for payload, _ in packets(tmp_path / "b.mkv", "subtitle")[0]] == [
        b"0,0,Style 2,,0,0,0,,{\\i1}Good{\\i0} morning."
    ]
    words = " ".join(sink.dropped_parts)
    assert "lines of its header" in words and "not shown or heard in 2 packets" in words
    # What was cleaned once is clean: nothing is left out of it again.
    assert filtered(tmp_path / "b.mkv", tmp_path / "c.mkv").dropped_parts == ()


def test_segments_joined_and_earlier_outputs_are_as_clean(tmp_path: Path) -> None:
    source = with_stream(tmp_path / "a.mkv", encode(tmp_path / "v.mp4"), vorbis)
    piece, reader = tmp_path / "piece.mkv", FileSource(source)
    filtered(source, piece, streams=False)
    times = [frame.time for frame in reader]
    wishes = {"audio": True, "keep_metadata": False, "overwrite": False, "tolerant": False}
    dropped = join([piece], times, reader.info, tmp_path / "b.mkv", **wishes)
    nothing_of_anybody(tmp_path / "b.mkv")
    assert "3 comments" in dropped.parts[0]
    check_copyable(tmp_path / "b.mkv", audio=True, keep_metadata=True)
    with pytest.raises(NotSplicedError, match="more than sound and text"):
        check_copyable(source, audio=True, keep_metadata=True)


def test_a_stream_that_cannot_be_told_to_be_clean_is_dropped_and_named(tmp_path: Path) -> None:
    def pictures(output: Any) -> Any:
        track = output.add_stream("dvdsub")
        track.codec_context.time_base = Fraction(1, 1000)
        yield track
        for start in (0, 400):
            packet: Any = av.Packet(FACE)
            packet.pts = packet.dts = start
            packet.time_base, packet.duration = Fraction(1, 1000), 300
            yield packet

    source = encode(tmp_path / "v.mkv")
    given = with_stream(tmp_path / "a.mkv", source, pictures)
    assert FACE in given.read_bytes()
    sink = filtered(given, tmp_path / "b.mkv")
    nothing_of_anybody(tmp_path / "b.mkv")
    assert sink.dropped_streams == ("subtitle stream 1 (dvd_subtitle): pictures, which could show faces",)


@pytest.mark.parametrize("codec", ["dvd_subtitle", "hdmv_pgs_subtitle", "dvb_subtitle", "xsub", "ttml", "eia_608"])
def test_subtitles_that_are_pictures_or_unknown_are_not_copied(codec: str) -> None:
    assert why_not(codec)


@pytest.mark.parametrize("codec", ["cook", "atrac3", "apac", "usac"])
def test_sound_with_an_unknown_header_is_not_copied(codec: str) -> None:
    assert clean_header(codec, b"Jane") is None


@pytest.mark.parametrize(
    ("codec", "length"),
    [("flac", 34), ("opus", 19), ("alac", 36), ("pcm_s16le", 0), ("mp3", 0), ("ac3", 0), ("wmav2", 10)],
)
def test_what_stands_behind_a_header_is_cut_off(codec: str, length: int) -> None:
    header = bytes(length)
    made = clean_header(codec, header + FACE)
    assert made is not None and made.data == header and made.left_out is not None
    same = clean_header(codec, header)
    assert same is not None and same.data == header and same.left_out is None


def test_a_comment_in_an_aac_header_is_blank() -> None:
    # AAC LC, 48 kHz, channels by a program config element: one front pair, and a comment.
    fields = [(2, 5), (3, 4), (0, 4), (0, 3), (0, 4), (1, 2), (3, 4), (1, 4), (0, 4), (0, 4), (0, 2), (0, 3), (0, 4)]
    fields += [(0, 1), (0, 1), (0, 1), (16, 5)]
    bits = "".join(f"{value:0{width}b}" for value, width in fields)
    bits += "0" * (-len(bits) % 8)
    start = int(bits, 2).to_bytes(len(bits) // 8, "big")
    made = clean_header("aac", start + bytes([8]) + b"Jane Doe" + b"\x56\xe5\x00")
    assert made is not None and made.data == start + bytes([8]) + bytes(8) + b"\x56\xe5\x00"
    assert made.left_out == "a comment of 8 bytes"
    assert clean_header("aac", start + bytes([200]) + b"Jane Doe") is None
    assert clean_header("aac", b"\x11\x90") == Header(b"\x11\x90") and clean_header("aac", b"") == Header(b"")
    assert clean_header("aac", b"\x16\x90") is None, "a rate that does not exist"


@pytest.mark.parametrize(
    ("codec", "head", "length"), [("mp3", 0xFFFB9000, 417), ("mp3", 0xFFF39400, 240), ("mp2", 0xFFFDA400, 576)]
)
def test_tags_about_mpeg_sound_are_left_out(codec: str, head: int, length: int) -> None:
    frame = head.to_bytes(4, "big") + bytes(length - 4)
    assert clean_packet(codec, frame) == frame and clean_packet(codec, frame + frame) == frame + frame
    size = bytes(len(FACE) >> 7 * place & 127 for place in (3, 2, 1, 0))
    assert clean_packet(codec, b"ID3\x03\x00\x00" + size + FACE + frame + b"TAGJane") == frame
    assert clean_packet(codec, FACE + frame) == b""


def test_packets_of_headers_and_tags_are_left_out() -> None:
    assert clean_packet("opus", b"OpusTagsJane") == clean_packet("vorbis", b"\x03vorbisJane") == b""
    assert clean_packet("flac", b"fLaCJane") == clean_packet("aac", b"ID3Jane") == b""


def test_mp4_text_keeps_its_words_and_styles_only() -> None:
    table = b"ftab" + struct.pack(">HHB", 1, 7, 8) + b"Jane.ttf"
    header = bytes(range(30)) + struct.pack(">I", len(table) + 4) + table
    text = CleanText.of("mov_text", header)
    assert text.header[:30] == bytes(range(30)) and b"Jane" not in text.header and text.left_out
    assert text.header[30:] == struct.pack(">I", 17) + b"ftab" + struct.pack(">HHB", 1, 7, 4) + b"Sans"
    style = struct.pack(">I4sH", 22, b"styl", 1) + bytes(12)
    link = struct.pack(">I4sHHB", 8 + 5 + 15 + 1, b"href", 0, 5, 15) + b"http://jane.doe" + b"\0"
    assert text.packet(b"\x00\x05Hello" + link + style) == b"\x00\x05Hello" + style


def test_a_language_is_the_name_of_one(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mkv", audio=["aac"], languages=["Jane's voice"])
    filtered(source, tmp_path / "b.mkv")
    nothing_of_anybody(tmp_path / "b.mkv")


def test_data_beside_packets_stays_behind(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mp4", audio=["aac"])
    if not hasattr(av.Packet, "iter_sidedata"):
        pytest.skip("this PyAV cannot put data beside a packet")
    from av.packet import PacketSideData

    with av.open(str(source)) as container:
        stream = container.streams.audio[0]
        packet = next(packet for packet in container.demux(stream) if packet.size)
        beside = PacketSideData(15, len(FACE))  # AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL
        beside.to_packet(packet)
        clean = CleanCopy(stream)
        copied = clean.packet(packet)
        assert packet.has_sidedata("matroska_block_additional")
        assert copied is not None and not copied.has_sidedata("matroska_block_additional")
        assert bytes(copied) == bytes(packet) and (copied.pts, copied.dts) == (packet.pts, packet.dts)
        assert clean.parts == ["audio stream 1 (aac): data beside 1 packets"]


def test_long_metadata_is_a_picture_and_not_kept(tmp_path: Path) -> None:
    said = {"title": "Jane", "coverart": base64.b64encode(FACE).decode()}
    filtered(encode(tmp_path / "a.mkv", metadata=said), tmp_path / "b.mkv", keep_metadata=True)
    kept = {key.lower(): text for key, text in FileSource(tmp_path / "b.mkv").info.metadata}
    assert kept["title"] == "Jane" and "coverart" not in kept
