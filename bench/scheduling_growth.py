"""How scheduling grows with the graph: `python -m fuse_mlir.bench.scheduling_growth --calls 1000,10000`.

Generated FX graphs of so many operations that become kernels are imported, then the passes up to level
`scheduled` run, with the verifier at the ends of levels as the backend has it (`--verify-each`: after every
pass), on one core; nothing is compiled by Triton and nothing runs. Only the passes and the verifier are timed
(processor time). Prints a line for each graph to stderr, and one JSON document:

    {"runs": [{"graph": "chain", "calls": 1000, "launches": 4, "remarks": 3, "seconds": 0.4,
      "passes": {"fuse-vertical": .., ..}}, ..], "growth": {"chain": 11.2, ..}}

`growth` is the time of the largest graph over that of the smallest. The exit status is 1 where one is above
`--limit` times, or a graph takes more than `--seconds`.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ..compiler.analysis.program.provenance import launches
from ..compiler.base.collector import collector_paused
from ..compiler.frontend.importer.importer import import_graph
from ..compiler.ir.context import make_context
from ..passes.manager import PassManager
from ..passes.pipeline import default_pipeline, levels_reached

aten = torch.ops.aten


class Builder:
    """An FX graph under construction; every node is a contiguous float32 tensor on the CPU."""

    def __init__(self) -> None:
        self.graph = torch.fx.Graph()
        self.mode = FakeTensorMode()
        self.values: dict[tuple[int, ...], torch.Tensor] = {}
        self.inputs: list[torch.Tensor] = []

    def of(self, node: torch.fx.Node, shape: tuple[int, ...]) -> torch.fx.Node:
        """Gives a node its shape."""
        if shape not in self.values:
            with self.mode:
                self.values[shape] = torch.empty(shape)
        node.meta["val"] = self.values[shape]
        return node

    def input(self, *shape: int) -> torch.fx.Node:
        node = self.of(self.graph.placeholder(f"in_{len(self.inputs)}"), shape)
        self.inputs.append(node.meta["val"])
        return node

    def call(self, op: Any, *args: Any, shape: tuple[int, ...] | None = None) -> torch.fx.Node:
        """An operation; without ``shape`` its result has that of the first argument."""
        node = self.graph.call_function(op, args)
        return self.of(node, tuple(args[0].meta["val"].shape) if shape is None else shape)

    def done(self, outputs: Sequence[torch.fx.Node]) -> torch.fx.GraphModule:
        self.graph.output(tuple(outputs))
        return torch.fx.GraphModule({}, self.graph)


def chain(calls: int) -> Builder:
    """Each operation reads the one before it."""
    b = Builder()
    x = b.input(64, 256)
    for i in range(calls):
        x = b.call((aten.sin, aten.neg, aten.cos, aten.exp)[i % 4].default, x)
    b.done([x])
    return b


def tree(calls: int) -> Builder:
    """Leaves that share an input, added up in pairs."""
    b = Builder()
    shared = b.input(64, 256)
    level = [b.call(aten.mul.Tensor, b.input(64, 256), shared) for _ in range((calls + 1) // 2)]
    while len(level) > 1:
        odd = level[len(level) // 2 * 2 :]
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [b.call(aten.add.Tensor, *pair) for pair in pairs] + odd
    b.done(level)
    return b


def fan_out(calls: int) -> Builder:
    """Every operation reads the same two tensors; every result is returned."""
    b = Builder()
    x, y = b.input(64, 256), b.input(64, 256)
    ops = (aten.add.Tensor, aten.mul.Tensor, aten.sub.Tensor, aten.maximum.default)
    b.done([b.call(ops[i % 4], b.call(aten.mul.Tensor, x, 1.0 + i), y) for i in range(calls // 2)])
    return b


def transformer(calls: int) -> Builder:
    """Layers of norm, product, attention weights, product, GELU, product, two residuals: 24 kernels each."""
    b = Builder()
    n, d = 128, 256
    x, w = b.input(n, d), b.input(d, d)
    for _ in range(max(1, calls // 24)):
        h = b.call(aten.mm.default, _norm(b, x, n, d), w)
        scores = b.call(aten.mm.default, h, h, shape=(n, n))
        x = b.call(aten.add.Tensor, x, b.call(aten.mm.default, _softmax(b, scores, n), h))
        h = b.call(aten.mm.default, _norm(b, x, n, d), w)
        gelu = b.call(aten.mul.Tensor, h, b.call(aten.sigmoid.default, b.call(aten.mul.Tensor, h, 1.702)))
        x = b.call(aten.add.Tensor, x, b.call(aten.mm.default, gelu, w))
    b.done([x])
    return b


def _norm(b: Builder, x: torch.fx.Node, n: int, d: int) -> torch.fx.Node:
    mean = b.call(aten.mean.dim, x, [1], True, shape=(n, 1))
    c = b.call(aten.sub.Tensor, x, mean)
    var = b.call(aten.mean.dim, b.call(aten.mul.Tensor, c, c), [1], True, shape=(n, 1))
    return b.call(aten.mul.Tensor, c, b.call(aten.rsqrt.default, b.call(aten.add.Tensor, var, 1e-5)))


def _softmax(b: Builder, x: torch.fx.Node, n: int) -> torch.fx.Node:
    e = b.call(
        aten.exp.default, b.call(aten.sub.Tensor, x, b.call(aten.amax.default, x, [1], True, shape=(n, 1)))
    )
    return b.call(aten.div.Tensor, e, b.call(aten.sum.dim_IntList, e, [1], True, shape=(n, 1)))


GRAPHS: dict[str, Callable[[int], Builder]] = {
    "chain": chain,
    "tree": tree,
    "fan-out": fan_out,
    "transformer": transformer,
}


def measure(name: str, calls: int, *, verify_each: bool = False) -> dict[str, Any]:
    """One entry of ``runs``."""
    built = GRAPHS[name](calls)
    gm = torch.fx.GraphModule({}, built.graph)
    with collector_paused():
        imported = import_graph(gm, built.inputs, context=make_context(), device="cpu", strict=False)
        ends = levels_reached("scheduled")
        manager = PassManager(
            default_pipeline("scheduled"), verify_each, checkpoints=ends, clock=process_time
        )
        before = sum(run.kind == "kernel" for run in launches(imported.module))
        manager.run(imported.module, imported.remarks)
    passes: dict[str, float] = {}
    for time in manager.times:
        passes[time.name] = passes.get(time.name, 0.0) + time.run
    passes["verify"] = sum(time.verify for time in manager.times)
    return {
        "graph": name,
        "calls": before,
        "launches": sum(run.kind == "kernel" for run in launches(imported.module)),
        "remarks": len(imported.remarks.items),
        "seconds": round(sum(passes.values()), 3),
        "passes": {name: round(spent, 3) for name, spent in passes.items()},
    }


def growth_of(runs: Sequence[dict[str, Any]]) -> dict[str, float]:
    """By graph: seconds of the most calls over those of the fewest."""
    found: dict[str, float] = {}
    for name in dict.fromkeys(run["graph"] for run in runs):
        ordered = sorted((run for run in runs if run["graph"] == name), key=lambda run: run["calls"])
        found[name] = round(ordered[-1]["seconds"] / max(ordered[0]["seconds"], 1e-9), 2)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the JSON document; returns the exit status."""
    args = _parser().parse_args(arguments)
    torch.set_num_threads(1)
    names = args.only.split(",") if args.only else list(GRAPHS)
    measure(names[0], 50)  # imports, and the first use of every table
    runs = []
    for name, calls in ((name, int(n)) for name in names for n in args.calls.split(",")):
        runs.append(measure(name, calls, verify_each=args.verify_each))
        print(f"{name} {calls}: {runs[-1]['seconds']} s", file=sys.stderr, flush=True)
    growth = growth_of(runs)
    print(json.dumps({"runs": runs, "growth": growth}, indent=1))
    slow = any(run["seconds"] > args.seconds for run in runs)
    return int(slow or any(g > args.limit for g in growth.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", default="1000,10000", help="numbers of kernel calls, comma-separated")
    parser.add_argument("--only", default="", help=f"some of {', '.join(GRAPHS)}")
    parser.add_argument("--verify-each", action="store_true", help="run the verifier after every pass")
    parser.add_argument("--limit", type=float, default=15.0, help="growth that is still right")
    parser.add_argument("--seconds", type=float, default=10.0, help="time for one graph that is still right")
    return parser


if __name__ == "__main__":
    sys.exit(main())
