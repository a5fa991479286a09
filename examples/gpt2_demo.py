"""Compiles GPT-2 and says what became of it: `./run demo`.

One forward pass and one training step (loss, backward through the compiled graph, SGD) of a GPT-2 with random
weights. Prints the launches before and after fusion, the fused kernels with the source lines they came from,
and the errors against a float64 reference; writes the IR after every pass to `out/gpt2`. The exit status is 1
when a result is not as accurate as eager PyTorch's.

On a GPU the model is GPT-2 small (12 layers, 124 million parameters); on a CPU, where kernels are interpreted
by torch, a smaller one.
"""

import argparse
import copy
import linecache
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import fuse_mlir
from fuse_mlir.bench.models.case import Draw
from fuse_mlir.bench.models.gpt2_small import GPT2, GPT2Config
from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.bench.tolerance import TensorError, judge_all
from fuse_mlir.compiler.analysis.program.provenance import Line
from fuse_mlir.compiler.analysis.program.provenance import lines as source_lines
from fuse_mlir.compiler.ir.kernel import string
from fuse_mlir.compiler.mlir import ir

ROOT = Path(__file__).resolve().parents[1]
LEARNING_RATE = 0.1

#: Sizes by device type: what finishes in a minute or two.
SIZES = {
    "cpu": {"layers": 2, "heads": 4, "width": 128, "vocab": 1024, "batch": 2, "length": 64},
    "cuda": {"layers": 12, "heads": 12, "width": 768, "vocab": 50257, "batch": 4, "length": 512},
}


def main(arguments: list[str] | None = None) -> int:
    """Runs the demo; 0 when every result is as accurate as eager's."""
    options = parse_arguments(arguments)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    session = Session(options)
    print_model(session)
    rows = session.compare()
    print_graphs(session.graphs)
    print_kernels(session.graphs, options.kernels)
    print_fallbacks(session.graphs)
    passed = print_errors(rows)
    print_dumps(session.dumps)
    return 0 if passed else 1


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line; sizes that are not given are those of the device."""
    parser = argparse.ArgumentParser(prog="./run demo", description=__doc__.partition("\n")[0])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=sorted(SIZES), default=device)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    for name in SIZES["cpu"]:
        values = ", ".join(f"{sizes[name]} on {device}" for device, sizes in SIZES.items())
        parser.add_argument(f"--{name}", type=int, metavar="N", help=values)
    parser.add_argument(
        "--explicit-attention", action="store_true", help="spell attention out, do not call SDPA"
    )
    level = "level of the IR that runs on a CPU: graph, scheduled, tiled or planned (default: scheduled)"
    parser.add_argument("--level", default="scheduled", metavar="LEVEL", help=level)
    parser.add_argument(
        "--kernels", type=int, default=8, metavar="N", help="kernels listed for each graph (0: all)"
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "out" / "gpt2", metavar="DIR", help="where IR goes"
    )
    options = parser.parse_args(arguments)
    for name, value in SIZES[options.device].items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


# ---- running -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """One run: `tensors` by names as `bench.tolerance` has them; the loss (nats) after the SGD step."""

    tensors: dict[str, torch.Tensor]
    loss_after: float

    @property
    def loss(self) -> float:
        """The loss before the step, in nats."""
        return self.tensors["output:loss"].item()


@dataclass
class Session:
    """The model, its inputs and what the backend tells of each graph."""

    options: argparse.Namespace
    graphs: list[Any] = field(default_factory=list)
    dumps: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        o = self.options
        self.config = GPT2Config(
            vocab=o.vocab,
            n_layer=o.layers,
            n_head=o.heads,
            n_embd=o.width,
            block=max(o.length, 64),
            explicit_attention=o.explicit_attention,
        )
        self.dtype = getattr(torch, o.dtype)
        self.model = GPT2(self.config).to(device=o.device, dtype=self.dtype)
        draw = Draw(torch.device(o.device), self.dtype)
        self.tokens, self.targets = (draw.integers(o.vocab, o.batch, o.length) for _ in range(2))

    def compare(self) -> tuple[TensorError, ...]:
        """Runs the model as float64 reference, eagerly and compiled; a verdict for each tensor."""
        with float64_reference():
            reference = self._run(copy.deepcopy(self.model).double())
        eager = self._run(copy.deepcopy(self.model))
        there = dumped(self.options.out)
        start = time.perf_counter()
        compiled = self._run(copy.deepcopy(self.model), backend=fuse_mlir.backend)
        self.seconds = time.perf_counter() - start
        self.dumps = sorted(dumped(self.options.out) - there)
        runs = {"eager": eager, "compiled": compiled}
        both = "; ".join(f"{name} {run.loss:.4f} -> {run.loss_after:.4f}" for name, run in runs.items())
        print(f"loss before -> after one step of SGD: {both}")
        print(f"the compiled run took {self.seconds:.1f} s, compiling included\n")
        return judge_all(reference.tensors, eager.tensors, compiled.tensors, torch.finfo(self.dtype).eps)

    def _run(self, model: GPT2, backend: Any = None) -> Outcome:
        """Forward; forward and backward; one step of SGD outside the graph; the loss once more."""
        call: Any = model
        if backend is not None:
            o = self.options
            chosen = {"dump": str(o.out), "on_compiled": self.graphs.append, "interpret_level": o.level}
            call = torch.compile(model, backend=backend, options=chosen, dynamic=False)
        with torch.no_grad():
            logits, _ = call(self.tokens, self.targets)
        _, loss = call(self.tokens, self.targets)
        loss.backward()
        tensors = {"output:logits": logits.detach(), "output:loss": loss.detach()}
        tensors.update({f"grad:{name}": p.grad.detach().clone() for name, p in model.named_parameters()})
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= LEARNING_RATE * parameter.grad
            _, after = call(self.tokens, self.targets)
        return Outcome(tensors, after.item())


def dumped(out: Path) -> set[Path]:
    """The folders of graphs that this run and earlier ones wrote."""
    return {path.parent for path in out.glob("*/00-input.mlir")}


# ---- telling -----------------------------------------------------------------------------------------------


def print_model(session: Session) -> None:
    o, parameters = session.options, sum(p.numel() for p in session.model.parameters())
    print(f"GPT-2: {o.layers} layers of width {o.width}, {o.heads} heads, {parameters:,} random weights")
    print(f"{o.batch} sequences of {o.length} tokens, {o.dtype} on {o.device}\n")


def print_graphs(graphs: list[Any]) -> None:
    """A line for each compiled graph."""
    print("What was compiled (a kernel is one launch; torch ops are library calls, matrix products mostly):")
    print("  graph       kernels as captured   after fusion   torch ops   fallbacks   compile time")
    for g in graphs:
        counts = f"{g.launches_before:19}   {g.launches_after:12}   {g.externs:9}   {len(g.fallbacks):9}"
        print(f"  {g.name:10}  {counts}   {sum(g.seconds.values()):10.1f} s")
    print("The torch ops:")
    for g in graphs:
        ops = Counter(torch_ops(g.module))
        print(f"  {g.name:10}  {', '.join(f'{n} {name}' for name, n in sorted(ops.items()))}")
    print()


def torch_ops(module: ir.Module) -> Iterator[str]:
    """The torch op of every call that is none of a kernel, `aten.mm` for instance."""
    functions = {string(f.operation.attributes["sym_name"]): f.operation for f in module.body.operations}
    for op in functions["main"].regions[0].blocks[0].operations:
        if op.operation.name == "func.call":
            callee = functions[ir.FlatSymbolRefAttr(op.operation.attributes["callee"]).value]
            if "fuse.extern" in callee.attributes:
                yield string(callee.attributes["fuse.extern"]).removesuffix(".default")


@dataclass
class Fused:
    """Kernels made from the same source lines."""

    lines: tuple[Line, ...]
    names: list[str]
    ops: int


def print_kernels(graphs: list[Any], most: int) -> None:
    """The kernels of each graph, those from most source lines first, with the lines."""
    for graph in graphs:
        kernels = sorted(fused_kernels(graph.module), key=lambda k: (-len(k.lines), k.names[0]))
        shown = kernels[:most] if most else kernels
        print(f"Kernels of the {graph.name} graph, and the lines that each one computes:")
        for kernel in shown:
            times = f" and {len(kernel.names) - 1} more from the same lines" if len(kernel.names) > 1 else ""
            print(f"  {kernel.names[0]}{times} ({kernel.ops} ops)")
            for file, number in kernel.lines:
                print(f"    {short(file)}:{number:<4} {linecache.getline(file, number).strip()}")
        if len(kernels) > len(shown):
            print(f"  ... and {len(kernels) - len(shown)} more (--kernels 0 lists all)")
        print()


def fused_kernels(module: ir.Module) -> list[Fused]:
    """The kernels that a final module launches, grouped by the source lines of their ops."""
    groups: dict[tuple[Line, ...], Fused] = {}
    for func in module.body.operations:
        op = func.operation
        if op.name != "tt.func" and "fuse.kernel" not in op.attributes:
            continue
        lines: set[Line] = set(source_lines(op.location))
        count = 0

        def visit(inner: Any, lines: set[Line] = lines) -> ir.WalkResult:
            nonlocal count
            count += 1
            lines.update(source_lines(inner.operation.location))
            return ir.WalkResult.ADVANCE

        op.walk(visit)
        key = tuple(sorted(lines))
        group = groups.setdefault(key, Fused(key, [], count))
        group.names.append(string(op.attributes["sym_name"]))
    return list(groups.values())


def print_fallbacks(graphs: list[Any]) -> None:
    """Ops that the compiler should generate and does not: they run as themselves."""
    places: dict[tuple[str, str], list[str]] = {}
    for graph in graphs:
        for fallback in graph.fallbacks:
            where = f"{graph.name} graph: {short(fallback.location)}"
            places.setdefault((fallback.target, fallback.reason), []).append(where)
    for (target, reason), where in places.items():
        print(f"fallback: {target} runs as itself, {reason} ({len(where)} times; {where[0]})")
    if places:
        print()


def print_errors(rows: tuple[TensorError, ...]) -> bool:
    """The worst tensor of each kind; True when all passed."""
    print("Errors against float64, as parts of the largest element (limit: twice eager's, plus one eps):")
    print("  what        worst tensor                        fuse     eager     limit")
    kinds = {"output:logits": "forward", "output:loss": "loss"}
    worst: dict[str, TensorError] = {}
    for row in rows:
        kind = kinds.get(row.name, "gradients")
        if kind not in worst or row.ratio > worst[kind].ratio:
            worst[kind] = row
    for kind, row in worst.items():
        name = row.name.partition(":")[2]
        numbers = f"{row.compiled_largest:8.1e}  {row.eager_largest:8.1e}  {row.limit_largest:8.1e}"
        print(f"  {kind:10}  {name:32}  {numbers}  {'PASS' if row.passed else 'FAIL'} {row.note}".rstrip())
    good = sum(row.passed for row in rows)
    passed = 0 < len(rows) == good
    print(f"{'PASS' if passed else 'FAIL'}: {good} of {len(rows)} tensors are within their limits\n")
    return passed


def print_dumps(folders: list[Path]) -> None:
    for folder in folders:
        files = sorted(folder.glob("[0-9][0-9]-*.mlir"))
        print(f"IR after every pass: {short(str(folder))}/{files[0].name} .. {files[-1].name}")


def short(path: str) -> str:
    """A path, or a text that ends with one, in which files below the repository begin there."""
    text, _, file = path.rpartition(" ")
    return f"{text} {os.path.realpath(file).removeprefix(f'{ROOT}{os.sep}')}".lstrip()


if __name__ == "__main__":
    sys.exit(main())
