"""Estimates beside what was measured, for each kind of kernel and each GPU: the page
``docs/performance/estimates.md``, written from the records in ``bench/results``.

    python -m fuse_mlir.bench.estimates [--check]
"""

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..compiler.analysis.contraction.few_rows import FewRows
from ..compiler.analysis.contraction.plan import contraction_plan
from ..compiler.analysis.contraction.surroundings import Moved
from ..compiler.analysis.contraction.tiles import ProductForm
from ..compiler.cost.clock import microseconds
from ..compiler.cost.devices import hardware_named
from ..compiler.cost.work import Work
from ..compiler.ir.layout import ELEMENT_BYTES
from .measured_products import GAP, LARGE, SMALL, WEIGHTS_ONCE

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance" / "estimates.md"
#: Records of kernels that move bytes, and of few rows, with the model of the GPU that they are of.
_KERNELS = (("kernels.json", "h200"), ("further.json", "h200"))
_FEW_ROWS = (("contractions-generated.json", "h200"), ("contractions-h100.json", "h100"))
#: Generated kernels of the wild suites, from the profiler (`bench/kernel_estimates.py`).
_GENERATED = ("generated-kernels.json", "h200")
#: Kinds of these that other models estimate.
_MODELLED = ("multiplies",)
#: An error that does not count.
_NEAR = 0.15
#: How many kernels are listed whose estimates miss most.
_LISTED = 24

_HEAD = """# Estimates beside what was measured
Written by `python -m fuse_mlir.bench.estimates` from the records in `bench/results` and
`bench/measured_products.py`, with the rates in `compiler/cost/gpus`. *Error* is the root mean square of
the logarithm of estimate over measured; *bias* is its mean, negative where estimates are too short. A
launch counts on both sides. Kernels that move bytes are estimated by their bytes alone, at
`streaming.pointwise` or, where they reduce, at `streaming.rows`. Generated kernels of the suites `wild`
and `wild2` that take at least 4 us are those of `bench/kernel_estimates.py`, at `streaming.fused`, which
fusion weighs: bytes and issue slots, each at the GPU's peak. Some estimates are long on purpose: of small
products that the library keeps, and of int8 weights of few rows, which tensor cores multiply.

| kind of kernel | GPU | records | error | bias | within 15% |
|---|---|---|---|---|---|
"""


_MISSED = """
## What is missed most
Of the generated kernels of the suites `wild` and `wild2`, those that take longest beyond their estimate,
in microseconds (NVIDIA H200; torch 2.11.0, triton 3.6.0; 2026-11-28; `python -m
fuse_mlir.bench.kernel_estimates --jobs 16`, record `bench/results/generated-kernels.json`). Each kind
that adds, looks up, scans or reduces errs by more than 30%, on the short side, for these reasons:

- adds at places: nothing counts atomics, nor how many of them meet at one place;
- looks rows up: a table counts once, while each look-up moves a sector of 32 bytes through the L2 cache;
- reduces, scans: the issue slots of a tile's masks, addresses and exchanges are not in the count of its
  scalar operations, and a kernel starts and ends in about 2 us.

The regime that is missing is one for each of these kinds. Fitted to these kernels alone, with 0.4 of the
issue slots, 0.7 to 0.9 of the bandwidth and 3 us of each kernel's own, the errors are 41% (reduces), 45%
(looks rows up), 42% (scans) and 75% (adds at places). Fusion compares sums of such estimates, of which
the same part is missing on both sides; so the rates stay as they are until the suites are timed under
others.

| workload | kind | measured | estimate |
|---|---|---:|---:|
"""


class Pair(NamedTuple):
    """An estimate and what was measured, in microseconds.  ``kind``: of the kernel, in words.  ``case``: the
    workload of a generated kernel, else empty.
    """

    kind: str
    gpu: str
    estimate: float
    measured: float
    case: str = ""


def pairs() -> Iterator[Pair]:
    """All of them."""
    yield from _streaming()
    yield from _few_rows()
    yield from _products()
    yield from _generated()


def page(found: list[Pair]) -> str:
    """The page of pairs: a row for each kind and GPU."""
    groups = dict[tuple[str, str], list[float]]()
    for pair in found:
        groups.setdefault((pair.kind, pair.gpu), []).append(math.log(pair.estimate / pair.measured))
    rows = [f"| {kind} | {gpu} | {_numbers(errors)} |" for (kind, gpu), errors in groups.items()]
    rows.append(f"| all | | {_numbers([e for errors in groups.values() for e in errors])} |")
    return _HEAD + "\n".join(rows) + "\n" + _most_missed(found)


def _most_missed(found: list[Pair]) -> str:
    """The generated kernels of the wild suites that take longest beyond their estimate."""
    named = sorted((p for p in found if p.case), key=lambda p: p.estimate - p.measured)[:_LISTED]
    if not named:
        return ""
    rows = [f"| {p.case} | {p.kind} | {p.measured:.0f} | {p.estimate:.0f} |" for p in named]
    return _MISSED + "\n".join(rows) + "\n"


def _numbers(errors: list[float]) -> str:
    error = math.sqrt(sum(e * e for e in errors) / len(errors))
    near = sum(abs(e) <= math.log(1 + _NEAR) for e in errors) / len(errors)
    return f"{len(errors)} | {error:.0%} | {sum(errors) / len(errors):+.0%} | {near:.0%}"


def _results(name: str) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = json.loads((ROOT / "bench" / "results" / name).read_text())["results"]
    return found


def _median(result: Mapping[str, Any], backend: str) -> float | None:
    """Microseconds of a backend that was right; None for others."""
    told = result.get("backends", {}).get(backend) or {}
    if not told.get("passed") or not told.get("timing"):
        return None
    return float(told["timing"]["p50"])


def _streaming() -> Iterator[Pair]:
    for name, model in _KERNELS:
        gpu = hardware_named(model)
        for result in _results(name):
            measured = _median(result, "fuse")
            if measured is None or result["backends"]["fuse"]["compiled"]["generated"] != 1:
                continue
            reduces = bool(result.get("reduces"))
            regime = gpu.rates.streaming.rows if reduces else gpu.rates.streaming.pointwise
            kind = "one kernel that reduces" if reduces else "one pointwise kernel"
            yield Pair(kind, model, microseconds(Work(result["bytes"], launches=1), gpu, regime), measured)


def _few_rows() -> Iterator[Pair]:
    for name, model in _FEW_ROWS:
        gpu = hardware_named(model)
        for result in _results(name):
            read = re.fullmatch(r"linear_(silu|int8)_(\d+)x(\d+)x(\d+)", result.get("case", ""))
            if read is None or int(read[2]) > 4 or result["dtype"] != "bfloat16":
                continue
            few = FewRows.of_sizes(int(read[2]), int(read[3]), int(read[4]), "bf16")
            kernel, call = _median(result, "fuse-generated"), _median(result, "fuse-library")
            if kernel is not None:
                estimate = few.as_kernel(gpu, result["bytes"], read[1] == "int8")
                yield Pair("few rows as a kernel", model, estimate, kernel)
            if call is not None and read[1] == "silu":  # a kernel reads and writes the result again
                moved = result["bytes"] + 4 * few.rows * int(read[3])
                yield Pair("few rows as a call", model, few.as_call(gpu, moved, 2), call)


def _products() -> Iterator[Pair]:
    gpu = hardware_named("h200")
    for (m, n, k), (library, kernel) in LARGE.items():
        moved = 2 * (m * k + k * n + m * n)
        yield from _both("products", ProductForm(m, n, k), moved, kernel, library, GAP)
    for ((m, n, k), beside, behind), (library, kernel) in WEIGHTS_ONCE.items():
        form = ProductForm(m, n, k, beside=beside, behind=behind)
        fused = 2 * (m * k + k * n + m * n * (1 + beside))
        plan, launches = contraction_plan(form, gpu), 2 if behind else 1
        around = Moved(fused, fused + 4 * m * n * (launches - 1), launches, 2 * (m * k + k * n + m * n))
        yield Pair("weights read once, as a kernel", "h200", plan.kernel_microseconds(around), kernel)
        yield Pair("weights read once, as a call", "h200", plan.library_microseconds(around), library)
    for (batch, m, n, k, element, *turned), (kernel, library) in SMALL.items():
        form = ProductForm(m, n, k, batch, element, turned=bool(turned))
        moved = batch * (m * k + k * n + m * n) * ELEMENT_BYTES[element]
        yield from _both("small products", form, moved, kernel, library)


def _generated() -> Iterator[Pair]:
    name, model = _GENERATED
    gpu = hardware_named(model)
    for found in json.loads((ROOT / "bench" / "results" / name).read_text())["kernels"]:
        work = Work(found["read"], found["written"], found["slots"])
        estimate = microseconds(work, gpu, gpu.rates.streaming.fused)
        if estimate > 0 and found["kind"] not in _MODELLED:
            yield Pair(f"wild: {found['kind']}", model, estimate, found["microseconds"], found["case"])


def _both(
    kind: str, form: ProductForm, moved: int, kernel: float | None, library: float, gap: float = 0.0
) -> Iterator[Pair]:
    """As a kernel and as a call.  ``gap``: what the profiler leaves out of a launch."""
    plan, around = contraction_plan(form, hardware_named("h200")), Moved(moved, moved, 1, moved)
    if kernel is not None:
        yield Pair(f"{kind} as a kernel", "h200", plan.kernel_microseconds(around) - gap, kernel)
    yield Pair(f"{kind} as a call", "h200", plan.library_microseconds(around) - gap, library)


def main(arguments: list[str] | None = None) -> int:
    """Writes the page; with ``--check`` the exit status is 1 where it is not what the records say."""
    given = sys.argv[1:] if arguments is None else arguments
    if given not in ([], ["--check"]):
        print("usage: estimates [--check]", file=sys.stderr)
        return 2
    text = page(list(pairs()))
    if given:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
