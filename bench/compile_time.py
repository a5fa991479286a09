"""How long the compiler's own Python takes: `python -m fuse_mlir.bench.compile_time --layers 2,12`.

The FX graphs of GPT-2 of so many layers are captured once (training: forward and backward), then imported,
lowered, verified at the end of each level, and printed as TTIR; nothing is compiled by Triton and nothing
runs, so no GPU is needed. Sizes are tiny: only the number of operations matters. Prints one JSON document:

    {"model": .., "runs": [{"layers": 2, "nodes": 470, "seconds": {"import": .., "fold-views": .., ..,
      "verify": .., "ttir": ..}, "total": ..}, ..], "growth": 1.05}

`seconds` are processor time, of the fastest of `--samples` rounds. `growth` is the time per FX node with the
most layers over that with the fewest: 1 is linear. The exit status is 1 where it is above `--limit`.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from ..compiler.base.collector import collector_paused
from ..compiler.codegen.launches import kernel_sources
from ..compiler.frontend.autograd.decompositions import decomposition_table
from ..compiler.frontend.autograd.min_cut import partition
from ..compiler.frontend.importer.importer import import_graph
from ..compiler.ir.context import make_context
from ..compiler.rewrites.captured.attention import fuse_attention
from ..passes.manager import PassManager
from ..passes.pipeline import default_pipeline, levels_reached
from .models.gpt2_small import GPT2, GPT2Config


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the JSON document; returns the exit status."""
    args = _parser().parse_args(arguments)
    torch.set_num_threads(1)
    runs = [measure_layers(int(n), args.samples) for n in args.layers.split(",")]
    growth = growth_of(runs)
    print(json.dumps({"model": "gpt2, training", "runs": runs, "growth": round(growth, 3)}, indent=1))
    return int(growth > args.limit)


def growth_of(runs: Sequence[dict[str, Any]]) -> float:
    """Seconds per FX node of the largest graph over those of the smallest."""
    ordered = sorted(runs, key=lambda run: run["nodes"])
    first, last = (run["total"] / run["nodes"] for run in (ordered[0], ordered[-1]))
    return last / first


def measure_layers(layers: int, samples: int) -> dict[str, Any]:
    """One entry of `runs`. The first round is not counted."""
    graphs = capture(layers)
    rounds = [_round(graphs) for _ in range(samples + 1)][1:]
    seconds = min(rounds, key=lambda stages: sum(stages.values()))
    return {
        "layers": layers,
        "nodes": sum(len(graph.graph.nodes) for graph in graphs),
        "seconds": {stage: round(s, 4) for stage, s in seconds.items()},
        "total": round(sum(seconds.values()), 4),
    }


def capture(layers: int) -> list[torch.fx.GraphModule]:
    """The forward and the backward graph of GPT-2, as AOTAutograd hands them to the backend."""
    config = GPT2Config(vocab=131, n_layer=layers, n_head=4, n_embd=64, block=32)
    tokens = torch.arange(32).reshape(2, 16)
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        graphs.append(graph)
        return make_boxed_func(graph.forward)

    def backend(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        fuse_attention(graph)
        return aot_autograd(
            fw_compiler=keep,
            partition_fn=partition,
            decompositions=decomposition_table(),
        )(graph, inputs)

    torch._dynamo.reset()
    _, loss = torch.compile(GPT2(config), backend=backend, dynamic=False)(tokens, tokens)
    loss.backward()
    torch._dynamo.reset()
    return graphs


def _round(graphs: Sequence[torch.fx.GraphModule]) -> dict[str, float]:
    """Processor seconds by stage, summed over the graphs."""
    seconds: dict[str, float] = {}

    def add(stage: str, spent: float) -> None:
        seconds[stage] = seconds.get(stage, 0.0) + spent

    for graph in graphs:
        with collector_paused():
            start = process_time()
            imported = import_graph(graph, context=make_context(), device="cpu")
            add("import", process_time() - start)
            manager = PassManager(default_pipeline(), False, checkpoints=levels_reached(), clock=process_time)
            manager.run(imported.module, imported.remarks)
            for time in manager.times:
                add(time.name, time.run)
            add("verify", sum(time.verify for time in manager.times))
            start = process_time()
            kernel_sources(imported.module)
            add("ttir", process_time() - start)
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--layers", default="2,12", help="numbers of layers, comma-separated")
    parser.add_argument("--samples", type=int, default=3, help="rounds, of which the fastest counts")
    parser.add_argument("--limit", type=float, default=1.3, help="growth that is still right")
    return parser


if __name__ == "__main__":
    sys.exit(main())
