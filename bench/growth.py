"""How time grows: `python -m fuse_mlir.bench.growth --out growth.json --svg docs/growth.svg`.

Three families, each with the time of a copy of the same bytes beside it: rows of a softmax, columns of a
layer norm, and pointwise operations in one chain, whose bytes stay the same.  The record is a JSON document:

    {"command": .., "device": .., "families": [{"name": "rows", "unit": "rows of 4096", "points":
      [{"size": 256, "bytes": .., "us": {"copy": .., "inductor": .., "fuse": ..}}, ..]}, ..]}

`us` are medians of device time, taken as `timing.py` says, backends and copy in turns.  `--small` tries the
machinery on tiny sizes, on a CPU too.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .backends import BACKENDS, CompileReport, compile_function
from .growth_svg import chart
from .suites.kernels import baselines
from .timing import Stopwatch, measure, stopwatch

ROWS, COLUMNS = 8192, 4096


@dataclass(frozen=True)
class Family:
    """Graphs that differ in one size.

    build: (size, device, dtype) -> function, arguments, bytes that must move.
    """

    name: str
    unit: str
    sizes: tuple[int, ...]
    small: tuple[int, ...]
    build: Callable[[int, torch.device, torch.dtype], tuple[Callable[..., Any], tuple[Tensor, ...], int]]


def _rows(size: int, device: torch.device, dtype: torch.dtype) -> Any:
    x = torch.randn(size, COLUMNS, device=device).to(dtype)
    return lambda x: x.softmax(-1), (x,), 2 * x.nbytes


def _columns(size: int, device: torch.device, dtype: torch.dtype) -> Any:
    x = torch.randn(ROWS if size >= 64 else 8, size, device=device).to(dtype)
    return lambda x: F.layer_norm(x, (x.shape[-1],)), (x,), 2 * x.nbytes


def _operations(size: int, device: torch.device, dtype: torch.dtype) -> Any:
    x = torch.randn(ROWS if device.type == "cuda" else 8, COLUMNS, device=device).to(dtype)

    def chain(x: Tensor) -> Tensor:
        for step in range(size):
            x = torch.relu(x * 1.01 + 0.1 * step)
        return x

    return chain, (x,), 2 * x.nbytes


FAMILIES = (
    Family("rows", f"rows of {COLUMNS}: softmax", tuple(2**k for k in range(6, 17)), (2, 4), _rows),
    Family(
        "columns", f"columns, {ROWS} rows: layer norm", tuple(2**k for k in range(6, 16)), (8, 16), _columns
    ),
    Family(
        "operations", f"triples of operations on {ROWS}x{COLUMNS}", (1, 2, 4, 8, 16, 32), (1, 2), _operations
    ),
)


def measure_family(
    family: Family,
    names: Sequence[str],
    device: torch.device,
    dtype: torch.dtype,
    watch: Stopwatch,
    *,
    samples: int,
    small: bool,
) -> dict[str, Any]:
    """One entry of `families`."""
    points = []
    for size in family.small if small else family.sizes:
        function, args, moved = family.build(size, device, dtype)
        calls = {**baselines(moved, device, reads=False), **_calls(function, args, names)}
        timings = measure(calls, watch, samples=samples)
        points.append(
            {
                "size": size,
                "bytes": moved,
                "us": {name: round(timing.device, 3) for name, timing in timings.items()},
            }
        )
    return {"name": family.name, "unit": family.unit, "points": points}


def _calls(
    function: Callable[..., Any], args: tuple[Tensor, ...], names: Sequence[str]
) -> Mapping[str, Callable[[], Any]]:
    """Each backend's call, compiled by a first one."""
    torch._dynamo.reset()
    calls: dict[str, Callable[[], Any]] = {}
    for name in names:
        compiled = compile_function(BACKENDS[name], function, CompileReport(), dynamic=False)

        def call(compiled: Callable[..., Any] = compiled) -> Any:
            with torch.no_grad():
                return compiled(*args)

        call()
        calls[name] = call
    return calls


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the record and the drawing; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    args = _parser().parse_args(given)
    device = torch.device(args.device)
    dtype = {"bfloat16": torch.bfloat16, "float32": torch.float32}[args.dtype]
    watch = stopwatch(device)
    families = [
        measure_family(
            family, args.backends.split(","), device, dtype, watch, samples=args.samples, small=args.small
        )
        for family in FAMILIES
        if args.only in family.name
    ]
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    record = {
        "command": ["python", "-m", "fuse_mlir.bench.growth", *given],
        "device": name,
        "dtype": args.dtype,
        "versions": {"torch": torch.__version__},
        "families": families,
    }
    text = json.dumps(record, indent=1)
    print(text)
    if args.out:
        Path(args.out).write_text(text + "\n")
    if args.svg:
        Path(args.svg).write_text(chart(families, f"{name}, {args.dtype}"))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    default = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", default=default, help="cuda or cpu")
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--backends", default="inductor,fuse", help="names of bench/backends.py")
    parser.add_argument("--only", default="", help="part of a family's name")
    parser.add_argument("--samples", type=int, default=30, help="samples of each backend and size")
    parser.add_argument("--small", action="store_true", help="tiny sizes")
    parser.add_argument("--out", help="file of the JSON record")
    parser.add_argument("--svg", help="file of the drawing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
