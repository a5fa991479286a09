"""The ledger: a hash for each thing that the compiler makes of the corpus, so that a change that is meant to
move or explain code, and to decide nothing differently, can show that it does.

    python test/py/helpers/ledger.py             # what differs from ledger.txt; exit status 1 if it does
    python test/py/helpers/ledger.py --write     # writes that file anew: decisions changed, for all to see
    python test/py/helpers/ledger.py models/gpt2 norms/  # of the entries whose names begin so
    python test/py/helpers/ledger.py --show KEY DIR  # the texts of one entry in new folders, to be compared

Every graph of the corpus is compiled as for a GPU, on a CPU: to the planned level, with free layouts and the
library's epilogues, for static and for symbolic sizes, for two hardware models, forward and backward.  All of
these leave products to the library, as on a CPU; graphs with products are compiled once more, with each
product a kernel or a call as for a GPU (``products``).  A line holds, for one compiled graph, the start
of the SHA-256 of

    planned     the planned module, without locations
    ttir        the TTIR of every kernel, with its warps and stages, without locations
    plan        the launch plan
    partitions  the launch plan cut for CUDA graphs

Nothing runs and Triton compiles nothing.  The hashes hold for the versions in the first line.
"""

import argparse
import contextlib
import hashlib
import importlib.metadata
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from corpus import GRAPHS, Graph

import fuse_mlir
from fuse_mlir.bench.models import ModelCase, select
from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.driver import compilation
from fuse_mlir.compiler.ir.choices import CHOICE
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.cuda_graphs.partitions import partitioned_plan
from fuse_mlir.compiler.runtime.plans.make_plan import make_plan
from fuse_mlir.compiler.runtime.plans.python_source import python_source
from fuse_mlir.passes.products import choose_libraries, library_products, product_kernel

LEDGER = Path(__file__).with_suffix(".txt")
ARTIFACTS = ("planned", "ttir", "plan", "partitions")
HARDWARE = ("h200", "a100")
#: What each entry is compiled for: its sizes, or its products, and a hardware model.
TARGETS = (
    *((sizes, hardware) for sizes in ("static", "dynamic") for hardware in HARDWARE),
    ("products", "h200"),
)
#: The passes of products that ask where the module runs.
OF_A_DEVICE = (choose_libraries, library_products, product_kernel)
#: As on a GPU, whatever the tests' environment asks for: the verifier changes nothing and takes time.
AS_ON_A_GPU = {"interpret_level": "planned", "layouts": "free", "epilogues": "library", "verify": "off"}
#: Digits of a SHA-256 that are kept.
DIGITS = 12

#: Locations in generic IR: of an op, and the aliases at the end of the text.
_LOCATION = re.compile(r" loc\((?:#loc\d*|unknown)\)|^#loc\d* = .*\n", re.MULTILINE)
#: A line of the corpus: what an assertion prints.
_PLACE = re.compile(r"[^\s\"':]*\.py\\?\"?:\d+(:\d+)?")

Compile = Callable[[Callable[..., Any]], Callable[..., Any]]


def entries() -> dict[str, Callable[[Compile], Any]]:
    """All that the ledger compiles, by name: functions that compile and call a graph."""
    found: dict[str, Callable[[Compile], Any]] = {name: partial(_call_graph, g) for name, g in GRAPHS.items()}
    for case in select(size="tiny"):
        if case.unavailable() is None:
            for mode in case.modes:
                found[f"models/{case.name}-{mode}"] = partial(_call_model, case, mode == "training")
    return found


def _call_graph(graph: Graph, compiled: Compile) -> None:
    compiled(graph.function)(*graph.make())


def _call_model(case: ModelCase, training: bool, compiled: Compile) -> None:
    module = case.new_module("cpu", torch.bfloat16).train(training)
    case.step(compiled(module), module, case.inputs(2, torch.device("cpu"), torch.bfloat16), training)


class Compiled(Exception):
    """Ends a call once its graphs are compiled, before they run."""


def artifacts(call: Callable[[Compile], Any], target: tuple[str, str]) -> dict[str, dict[str, str]]:
    """What becomes of an entry: the texts of the artifacts of each compiled graph, named after its kind.  For
    ``products``, of each graph in which the compiler decided about one.
    """
    form, hardware = target
    found: dict[str, dict[str, str]] = {}

    def taken(module: ir.Module, *args: Any, kind: str, **kwargs: Any) -> compilation.Executable:
        texts = _texts(module)
        if form != "products" or CHOICE in texts["planned"]:
            found[f"{kind}{len(found)}"] = texts
        return compilation.Executable(_end)

    torch._dynamo.reset()
    torch.manual_seed(0)
    options = {**AS_ON_A_GPU, "hardware": hardware}
    compiled = partial(torch.compile, backend=fuse_mlir.backend, dynamic=form == "dynamic", options=options)
    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.object(compilation, "executable", taken))
        for asking in OF_A_DEVICE if form == "products" else ():
            patches.enter_context(mock.patch.object(asking, "device_of", lambda module: "cuda:0"))
        with contextlib.suppress(Compiled):
            call(compiled)
    return found


def _end(args: list[Any]) -> list[Any]:
    raise Compiled


def _texts(module: ir.Module) -> dict[str, str]:
    kernels = kernel_sources(module).items()
    return {
        "planned": without_places(module.operation.get_asm(enable_debug_info=False)),
        "ttir": "".join(
            f"{name} {k.num_warps} {k.num_stages}\n{without_places(k.text)}" for name, k in kernels
        ),
        "plan": without_places(python_source(make_plan(module))),
        "partitions": without_places(python_source(partitioned_plan(module, ()))),
    }


def without_places(text: str) -> str:
    """IR, or a plan, without locations and without the lines of user code that it names."""
    return _PLACE.sub("PLACE", _LOCATION.sub("", text))


def lines(name: str, targets: Iterable[tuple[str, str]] = TARGETS) -> Iterator[str]:
    """The ledger's lines of an entry."""
    call = entries()[name]
    for target in targets:
        for graph, texts in artifacts(call, target).items():
            hashes = (hashlib.sha256(texts[a].encode()).hexdigest()[:DIGITS] for a in ARTIFACTS)
            yield " ".join((name, *target, graph, *hashes))


def header() -> str:
    """The versions that the ledger's hashes hold for."""
    versions = (f"{p} {importlib.metadata.version(p)}" for p in ("torch", "torch-mlir", "transformers"))
    return f"# {', '.join(versions)}: name, sizes, hardware, graph, {', '.join(ARTIFACTS)}"


def committed() -> list[str]:
    return LEDGER.read_text().splitlines()


def of(name: str, targets: Iterable[tuple[str, str]] = TARGETS) -> list[str]:
    """The committed lines of an entry."""
    wanted = [[name, *target] for target in targets]
    return [line for line in committed() if line.split(" ")[:3] in wanted]


def _lines(name: str) -> list[str]:
    return list(lines(name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="how the names of the entries begin; all without one")
    parser.add_argument("--write", action="store_true", help=f"write {LEDGER.name} anew")
    parser.add_argument("--show", nargs=2, metavar=("KEY", "DIR"), help="write an entry's artifacts to DIR")
    asked = parser.parse_args()
    if asked.write and asked.names:
        parser.error("--write writes all entries")
    if asked.show:
        return _show(asked.show[0], Path(asked.show[1]))
    chosen = [name for name in entries() if name.startswith(tuple(asked.names) or "")]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        now = [header(), *chain.from_iterable(pool.map(_lines, chosen))]
    before = [line for line in committed() if line.startswith("#") or line.split(" ")[0] in chosen]
    if asked.write:
        LEDGER.write_text("\n".join(now) + "\n")
        return 0
    for line in sorted(set(before) ^ set(now)):
        print("-" if line in before else "+", line)
    return int(before != now)


def _show(name: str, folder: Path) -> int:
    for target in TARGETS:
        for graph, texts in artifacts(entries()[name], target).items():
            place = folder / "-".join((*target, graph))
            place.mkdir(parents=True)
            for artifact, text in texts.items():
                (place / artifact).write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
