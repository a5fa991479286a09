"""A pass of this folder breaks the answer: which one, and where? docs/debugging.md finds it.

Run it: `python examples/faults/wrong_pass.py`.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.passes.pipeline import default_pipeline
from fuse_mlir.passes.pipeline_text import pipeline_text

DEFAULT = pipeline_text(default_pipeline("scheduled"))
PIPELINE = DEFAULT.replace("materialize-fusion,", "materialize-fusion,scale-early,", 1)


def block(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x [n, m], weight [m, m], bias [m] -> [n, m]."""
    y = F.layer_norm(x, x.shape[-1:]) @ weight
    return torch.softmax((y + bias) * 0.125, -1)


def main() -> None:
    """Prints how far the compiled block is from eager mode."""
    torch.manual_seed(0)
    arguments = torch.randn(16, 64), torch.randn(64, 64), torch.randn(64)
    compiled = torch.compile(block, backend=fuse_mlir.backend, options={"pipeline": PIPELINE})
    error = (compiled(*arguments) - block(*arguments)).abs().max().item()
    print(f"off by {error:.1e}")


if __name__ == "__main__":
    main()
