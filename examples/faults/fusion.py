"""Three fusions are missed here: which one would save most? docs/debugging.md finds it.

Run it: `python examples/faults/fusion.py`.
"""

import torch
from torch import Tensor

import fuse_mlir


@torch.library.custom_op("faults::gate", mutates_args=())
def gate(x: Tensor) -> Tensor:
    """x [n, m] -> [n, m]: the compiler cannot see into it."""
    return x * torch.sigmoid(1.702 * x)


@gate.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def block(x: Tensor, bias: Tensor, table: Tensor, votes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x [n, m], bias [m], table [k, 8], votes [r, s] -> [n, m], [k, 8], [r, s]."""
    order = (table * 3).sort(0).values + 1
    shares = (votes / votes.sum(0)).softmax(1)
    centred = x - x.mean(1, keepdim=True)
    gated = gate(centred + bias) * 2
    return gated, order, shares


def main() -> None:
    """Prints how many launches there are."""
    torch.manual_seed(0)
    graphs = []
    compiled = torch.compile(block, backend=fuse_mlir.backend, options={"on_compiled": graphs.append})
    compiled(torch.randn(1024, 512), torch.randn(512), torch.randn(64, 8), torch.rand(128, 512))
    print(f"{graphs[0].launches_after} launches and {graphs[0].externs} of torch's ops")


if __name__ == "__main__":
    main()
