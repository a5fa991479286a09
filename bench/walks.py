"""Row and column reductions of one matrix in one kernel and in two: `python -m fuse_mlir.bench.walks`.

A kernel that *walks* reads the matrix once and stores parts of the columns' sums (`analysis/fusion/walk.py`).
For each case, the graph is compiled with and without a walk, whatever the estimate says; both are checked
against float64 and measured in turns (the median of device time, taken as `timing.py` says).  A line of JSON
for each case has the times, the estimate, and what it decides.

`--jobs N`: processes that compile at the same time, each of which times alone.  `--only ln,rms_509x4096`:
functions and cases.
`--small` tries the machinery on tiny sizes, on a CPU too.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any
from unittest import mock

import torch
from torch import Tensor

import fuse_mlir
from fuse_mlir.compiler.analysis.fusion.walk import Walk
from fuse_mlir.compiler.analysis.kernel import shares
from fuse_mlir.compiler.analysis.tiling import walk_rules
from fuse_mlir.compiler.cost.hardware import Hardware

from .reference import float64_reference
from .timing import measure, stopwatch
from .turns import Turns


def layer_norm_backward(rows: int, columns: int, element: torch.dtype, device: torch.device):
    """Gradients of a layer norm: of its operand, of weight and of bias."""
    x, dy = (torch.randn(rows, columns, device=device).to(element) for _ in range(2))
    w, b = (torch.randn(columns, device=device).to(element) for _ in range(2))
    _, mean, rstd = torch.native_layer_norm(x, [columns], w, b, 1e-5)

    def function(dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, w: Tensor, b: Tensor):
        return torch.ops.aten.native_layer_norm_backward(dy, x, [columns], mean, rstd, w, b, [True] * 3)

    return function, (dy, x, mean, rstd, w, b)


def rms_norm_backward(rows: int, columns: int, element: torch.dtype, device: torch.device):
    """Gradients of an RMS norm: of its operand and of its weight."""
    x, dy = (torch.randn(rows, columns, device=device).to(element) for _ in range(2))
    w = torch.randn(columns, device=device).to(element)

    def function(dy: Tensor, x: Tensor, w: Tensor):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        rstd = torch.rsqrt(wide.square().mean(1, keepdim=True) + 1e-6)
        gradient, unit = dy * w, wide * rstd
        dx = (gradient - unit * (gradient * unit).mean(1, keepdim=True)) * rstd
        return dx.to(x.dtype), (dy * unit).sum(0).to(w.dtype)

    return function, (dy, x, w)


def sums(rows: int, columns: int, element: torch.dtype, device: torch.device):
    """Sums of rows and of columns."""
    return (lambda x: (x.sum(1), x.sum(0))), (torch.randn(rows, columns, device=device).to(element),)


def mean_and_variance(rows: int, columns: int, element: torch.dtype, device: torch.device):
    """Means of rows and variances of columns."""
    return (lambda x: (x.mean(1), x.var(0))), (torch.randn(rows, columns, device=device).to(element),)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ln": layer_norm_backward,
    "rms": rms_norm_backward,
    "sums": sums,
    "mean-var": mean_and_variance,
}
B, F = torch.bfloat16, torch.float32
CASES: tuple[tuple[str, int, int, torch.dtype], ...] = (
    *(("ln", rows, columns, B) for columns in (768, 4096, 8192) for rows in (127, 264, 509, 1000, 2047)),
    *(("ln", 2053, columns, B) for columns in (200, 768, 4096)),
    *(("ln", rows, columns, B) for rows in (8192, 65536) for columns in (33, 64, 100, 200)),
    *(("ln", rows, columns, B) for rows in (262144, 524288) for columns in (64, 128)),
    ("ln", 1000, 4096, F),
    ("ln", 16384, 4096, B),
    ("ln", 9999, 8192, B),
    ("mean-var", 8192, 8192, B),
    ("ln", 65536, 128, F),
    ("ln", 32768, 256, B),
    *(("rms", rows, 4096, B) for rows in (509, 1000, 2053)),
    ("rms", 524288, 128, B),
    ("rms", 65536, 200, B),
    *(("sums", rows, 4096, B) for rows in (127, 509, 1000)),
    *(("sums", 8192, columns, B) for columns in (64, 12288, 16384)),
    ("sums", 1000, 16384, B),
    ("sums", 524288, 64, B),
    ("mean-var", 8192, 16384, B),
    ("mean-var", 1024, 4096, B),
    *(("mean-var", 8191, columns, B) for columns in (1024, 8192, 16384)),
    ("mean-var", 2053, 4096, B),
    *((name, 8192, columns, B) for name in ("ln", "rms") for columns in (12288, 16384)),
    ("ln", 1000, 12288, B),
)
SMALL = (("ln", 40, 48, F), ("sums", 300, 48, F), ("mean-var", 41, 48, F))


@dataclass
class Estimates:
    """Microseconds of one kernel and of two, each time that a pass asked."""

    found: list[tuple[float, float]]

    @contextlib.contextmanager
    def forced(self, walk: bool) -> Iterator[None]:
        """Inside, every walk that can be merged is, or none."""

        def pays(_: Walk, together: float, apart: float, further: bool, hardware: Hardware) -> bool:
            if walk and not further:
                self.found.append((round(together, 2), round(apart, 2)))
            return walk

        with mock.patch.object(Walk, "pays", pays):
            yield


def variants(name: str, rows: int, columns: int) -> dict[str, Callable[[], Any]]:
    """Ways to compile a case: contexts by name, the first without a walk."""
    found: dict[str, Callable[[], Any]] = {"walk": contextlib.nullcontext}

    def other(name: str, module: Any, attribute: str, value: Any) -> None:
        found[name] = lambda: mock.patch.object(module, attribute, value)

    @contextlib.contextmanager
    def one_program(warps: int, stages: int) -> Iterator[None]:
        with (
            mock.patch.object(shares, "_OF_WARPS", 1),
            mock.patch.object(walk_rules, "_WALK_WARPS", warps),
            mock.patch.object(walk_rules, "_WALK_STAGES", stages),
        ):
            yield

    if columns < 64 or (columns > 8192 and name in ("ln", "rms")):
        return found
    if columns <= 1024:
        other("shares of 4 KB", shares, "_BYTES", 1 << 12)
        other("16 warps", shares, "_OF_ONE_WARP", 16)
        other("steps of 512", walk_rules, "_STEP", 512)
    else:
        other("one program", shares, "_OF_WARPS", 1)
        other("two programs", shares, "_ALONE", 2)
        found["one program of 16 warps"] = lambda: one_program(16, 3)
        found["one program of 16 warps, five stages"] = lambda: one_program(16, 5)
    return found


def measured(case: tuple[str, int, int, torch.dtype], device: torch.device, turns: Turns, samples: int):
    """The record of one case."""
    name, rows, columns, element = case
    torch.manual_seed(0)
    function, args = FUNCTIONS[name](rows, columns, element, device)
    with float64_reference():
        exact = function(*(a.double() for a in args))
    eager = function(*args)
    estimates = Estimates([])
    calls, made, errors = {}, {}, {"eager": _errors(eager, exact)}
    with turns.together():
        for way, context in {"apart": contextlib.nullcontext, **variants(name, rows, columns)}.items():
            graphs: list[Any] = []
            own = FunctionType(function.__code__.replace(), globals(), way, None, function.__closure__)
            options = {"cache": False, "on_compiled": graphs.append}
            compiled = torch.compile(own, backend=fuse_mlir.backend, options=options, dynamic=False)
            with estimates.forced(way != "apart"), context():  # Dynamo knows functions by their code
                found = compiled(*args)
            errors[way] = _errors(found, exact)
            made[way] = graphs
            calls[way] = lambda compiled=compiled: compiled(*args)
        with turns.alone():
            times = measure(calls, stopwatch(device), samples=samples, seconds=1.5)
    assert all(len(graphs) == 1 for graphs in made.values()), "compiled again where nothing is forced"
    return {
        "case": f"{name}_{rows}x{columns}",
        "dtype": str(element).removeprefix("torch."),
        "us": {way: [round(t.p10, 1), round(t.device, 1), round(t.p90, 1)] for way, t in times.items()},
        "launches": {way: graph.launches_after for way, [graph] in made.items()},
        "errors": errors,
        "estimates": estimates.found,
    }


def _errors(found: Sequence[Tensor], exact: Sequence[Tensor]) -> list[float]:
    """The error of each result, by norm."""
    return [
        float(f"{((a.double() - b.double()).norm() / b.double().norm()).item():.2e}")
        for a, b in zip(found, exact, strict=True)
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--turns", help=argparse.SUPPRESS)
    parser.add_argument("--shard", default="0/1", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.jobs > 1:
        return _in_processes(options.jobs, list(sys.argv[1:] if argv is None else argv))
    wanted = options.only.split(",") if options.only else list(FUNCTIONS)
    number, count = map(int, options.shard.split("/"))
    cases = [
        (name, rows, columns, element)
        for name, rows, columns, element in (SMALL if options.small else CASES)
        if {name, f"{name}_{rows}x{columns}"} & set(wanted)
    ][number::count]
    turns = Turns(Path(options.turns) if options.turns else None)
    for case in cases:
        print(json.dumps(measured(case, torch.device(options.device), turns, options.samples)), flush=True)
    return 0


def _in_processes(jobs: int, arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "fuse_mlir.bench.walks",
            *arguments,
            "--jobs",
            "1",
            "--turns",
            folder,
        ]
        started = [subprocess.Popen([*command, "--shard", f"{n}/{jobs}"]) for n in range(jobs)]
        return max(process.wait() for process in started)


if __name__ == "__main__":
    sys.exit(main())
