"""A Helion kernel with what stands in front of it and behind it computed in the Triton kernel that Helion
generates, as an op with a template and called by the model itself.

    python examples/helion_template.py   # needs helion
"""

import sys
from collections.abc import Callable
from typing import Any

import helion
import helion.language as hl
import torch

import fuse_mlir
from fuse_mlir.integrations.helion import helion_op


@helion.kernel(config=helion.Config(block_sizes=[1]))
def softmax(x: torch.Tensor) -> torch.Tensor:
    """Of each row."""
    out = torch.empty_like(x)
    for row in hl.tile(x.size(0)):
        out[row, :] = torch.softmax(x[row, :], dim=1)
    return out


softmax_op = helion_op("helion_example::softmax", softmax, torch.empty_like)


def launches(run: Callable[[torch.Tensor], torch.Tensor]) -> int:
    """Of a model around ``run``, whose answer is right."""
    graphs: list[Any] = []

    def scores(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return run(x * scale).to(torch.bfloat16)

    compiled = torch.compile(scores, backend=fuse_mlir.backend, options={"on_compiled": graphs.append})
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, scale = torch.randn(256, 1000, device=device), torch.randn(1000, device=device)
    found, expected = compiled(x, scale), (x * scale).double().softmax(1)
    (graph,) = graphs
    print(graph.launches_before, "->", graph.launches_after, "launches")
    print(*(r.message for r in graph.remarks.items if r.pass_name.startswith("fuse-user")), sep="\n")
    torch.testing.assert_close(found.double(), expected, rtol=2**-8, atol=1e-6)
    return int(graph.launches_after + graph.externs)


def main() -> int:
    """Prints what was fused; 0 if each of the programs is one launch and right."""
    found = [launches(softmax_op)]
    if torch.cuda.is_available():
        softmax(torch.randn(256, 1000, device="cuda"))  # so that Dynamo finds its generated code
        found.append(launches(softmax))
    return 0 if found == [1] * len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
