"""A pipeline of one's own: `options={"pipeline": "builtin.module(...)"}`.

The text is what `fuse-opt --pass-pipeline` takes; `fuse-opt --list-passes` names the passes. A pipeline for
the CPU ends at the scheduled level, one for a GPU at the planned level. Run it:
`python examples/custom_pipeline.py`.
"""

import sys

import torch
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.passes.pipeline import default_pipeline
from fuse_mlir.passes.pipeline_text import pipeline_text

PIPELINES = {
    "nothing fused": "builtin.module(fold-views,eliminate-dead)",
    "vertical fusion only": "builtin.module(fold-views,fuse-vertical,materialize-fusion,eliminate-dead)",
    "the default": pipeline_text(default_pipeline("scheduled")),
}


def block(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x [n, 64], bias [64] -> [n, 64]."""
    return F.layer_norm(F.gelu(x + bias), (64,)) * torch.sigmoid(x)


def launches(pipeline: str, *args: torch.Tensor) -> tuple[int, torch.Tensor]:
    """Compiles `block` with `pipeline`; the kernels that it launches and its result."""
    graphs = []
    torch._dynamo.reset()
    chosen = {"pipeline": pipeline, "on_compiled": graphs.append}
    result = torch.compile(block, backend=fuse_mlir.backend, options=chosen)(*args)
    return sum(graph.launches_after for graph in graphs), result


def main() -> int:
    """Prints the launches that each pipeline leaves; 0 when all results are near the float64 one."""
    x, bias = torch.randn(8, 64), torch.randn(64)
    reference = block(x.double(), bias.double())
    worst = 0.0
    for name, pipeline in PIPELINES.items():
        count, result = launches(pipeline, x, bias)
        error = (result - reference).abs().max().item()
        worst = max(worst, error)
        print(f"{name}: {count} launches, error {error:.1e}\n    {pipeline}")
    return 0 if worst < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
