"""Fits rates to the CUDA device at hand and writes its file in ``compiler/cost/gpus``.

    python -m fuse_mlir.bench.fit NAME [--like h100] [--word rtx6000]

Few rates decide most: what kernels and calls reach of the bandwidth, what they cost beside it, what the
library reaches of tensor cores' peak.  Each is fitted to times of kernels of several sizes, which takes some
minutes; all others are those of the GPU that ``--like`` names.  Figures are what the device says.  A file
that exists is not overwritten: what it has was looked at.
"""

import argparse
import datetime
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch.nn import functional as F

import fuse_mlir

from ..compiler.cost import gpus
from ..compiler.cost.clock import microseconds
from ..compiler.cost.devices import device_hardware, models
from ..compiler.cost.hardware import Hardware
from ..compiler.cost.work import Work
from .timing import measure, stopwatch

#: Outputs and inputs of matrices of weights, in bf16, and elements of vectors.
_WEIGHTS = ((4096, 4096), (14336, 4096), (8192, 28672), (128256, 4096))
_VECTORS = (1 << 23, 1 << 25, 1 << 27, 1 << 28)
#: Rows, columns and summed elements of a product that only multiplying bounds.
_LARGE = (8192, 8192, 8192)


class Line(NamedTuple):
    """time = starts + bytes / rate: microseconds, and bytes in a microsecond."""

    starts: float
    rate: float


class Point(NamedTuple):
    """What one kernel moved, in bytes, and its microseconds, launch included."""

    moved: float
    time: float


def fitted_line(points: Sequence[Point]) -> Line:
    """The line with the least sum of squares of relative errors.  Raises ValueError where times do not grow
    with bytes.
    """
    ones = [1 / p.time for p in points]  # each equation is divided by its time
    sizes = [p.moved / p.time for p in points]
    a, b, c = sum(x * x for x in ones), sum(map(_product, ones, sizes)), sum(x * x for x in sizes)
    right = sum(ones), sum(sizes)
    determinant = a * c - b * b
    several = len({p.moved for p in points}) > 1
    slope = (a * right[1] - b * right[0]) / determinant if several else 0.0
    if slope <= 0:
        raise ValueError(f"times do not grow with bytes: {[round(p.time, 1) for p in points]} us")
    return Line((c * right[0] - b * right[1]) / determinant, 1 / slope)


def _product(x: float, y: float) -> float:
    return x * y


def rates_of(gpu: Hardware, points: Mapping[str, Sequence[Point]], multiplied: float) -> dict[str, float]:
    """Rates by their dotted names.  ``points``: of each regime, by its name.  ``multiplied``: microseconds of
    the large product as a call.
    """
    found: dict[str, float] = {}
    for regime, measured in points.items():
        line = fitted_line(measured)
        found[f"{regime}.bandwidth"] = round(line.rate / (gpu.bandwidth * 1e3), 3)
        if not regime.startswith("streaming."):
            found[f"{regime}.starts"] = round(max(0.0, line.starts - gpu.launch), 2)
    m, n, k = _LARGE
    least = microseconds(Work(flops=2 * m * n * k, element="bf16"), gpu, gpu.rates.streaming.peak)
    found["calls.block.multiply"] = round(least / multiplied, 3)
    return found


def file_of(gpu: Hardware, name: str, like: str, word: str, capability: tuple[int, int],
            rates: Mapping[str, float], device: str, date: str) -> str:  # fmt: skip
    """The text of the file of a GPU."""
    units = {key: "us" if key.endswith(".starts") else "of peak" for key in rates}
    lines = [f'        "{key}": Rate({value!r}, "{units[key]}", _FIT),' for key, value in rates.items()]
    figures = "".join(
        f"    {key}={getattr(gpu, key)!r},\n"
        for key in ("registers", "shared_bytes", "l2_bytes", "bandwidth", "clock", "tensor_tflops")
    )
    return f'''"""{device}.  Rates that bench/fit.py did not fit are those of {like}."""

from ..hardware import Hardware
from ..rates import Rate, RateSource
from . import {like} as like

_FIT = RateSource("bench/fit.py", "{name}", "{date}")

RATES = like.GPU.rates.but(
    {{
{chr(10).join(lines)}
    }}
)
GPU = Hardware(
    "{name}",
    {gpu.sm_count},
    RATES,
{figures}    link=like.GPU.link,
    descriptors={gpu.descriptors},
    words=("{word}",),
    capability={capability},
    rates_of="{like}",
)
'''


def _measured(calls: Mapping[float, Callable[[], object]], device: torch.device) -> list[Point]:
    named = {str(moved): call for moved, call in calls.items()}
    times = measure(named, stopwatch(device), samples=30, seconds=20)
    return [Point(float(moved), timing.device) for moved, timing in times.items()]


def points_of(device: torch.device) -> Iterator[tuple[str, list[Point]]]:
    """Measures kernels and calls of several sizes: the name of each regime with its points."""

    def empty(*sizes: int) -> torch.Tensor:
        return torch.randn(sizes, device=device, dtype=torch.bfloat16)

    def compiled(function: Callable[..., object], *args: torch.Tensor) -> Callable[[], object]:
        torch._dynamo.reset()
        options = {"products": "generated", "cache": False}
        made = torch.compile(function, backend=fuse_mlir.backend, options=options, dynamic=False)
        made(*args)
        return lambda: made(*args)

    vectors = {6.0 * n: compiled(lambda x, y: x * 2 + y, empty(n), empty(n)) for n in _VECTORS}
    yield "streaming.pointwise", _measured(vectors, device)
    del vectors
    for regime, rows in (("few_rows.call", 1), ("few_rows.kernel", 1), ("few_rows.tensor_cores", 4)):
        calls: dict[float, Callable[[], object]] = {}
        for outputs, inputs in _WEIGHTS:
            x, w = empty(rows, inputs), empty(outputs, inputs)
            moved = 2.0 * (outputs * inputs + rows * (outputs + inputs))
            library = regime == "few_rows.call"
            calls[moved] = (lambda x=x, w=w: F.linear(x, w)) if library else compiled(F.linear, x, w)
        yield regime, _measured(calls, device)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("name", help="of the model: the name of its file")
    parser.add_argument("--like", default="h100", help="the model whose other rates it has")
    parser.add_argument("--word", help="a word of the device's name; NAME where it is left out")
    given = parser.parse_args(arguments)
    path = Path(gpus.__path__[0]) / f"{given.name}.py"
    if not given.name.isidentifier() or given.name != given.name.lower():
        parser.error(f"expected a name in lower case, of letters and digits, got '{given.name}'")
    if given.like not in models():
        parser.error(f"unknown hardware '{given.like}': expected one of {', '.join(models())}")
    if path.exists():
        parser.error(f"{path} exists; remove it to fit the GPU anew")
    if not torch.cuda.is_available():
        print("fit: there is no CUDA device to measure", file=sys.stderr)
        return 2
    device, properties = torch.device("cuda"), torch.cuda.get_device_properties(0)
    gpu = device_hardware(properties, None if given.like == "generic" else given.like)
    m, n, k = _LARGE
    x, w = (torch.randn(s, device=device, dtype=torch.bfloat16) for s in ((m, k), (k, n)))
    [product] = _measured({0.0: lambda: x @ w}, device)
    rates = rates_of(gpu, dict(points_of(device)), product.time)
    capability = (properties.major, properties.minor)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = file_of(
        gpu, given.name, given.like, given.word or given.name, capability, rates, properties.name, today
    )
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}: " + ", ".join(f"{key} {value}" for key, value in rates.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
