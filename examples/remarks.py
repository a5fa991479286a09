"""Why were these not fused? `python examples/remarks.py` prints what the compiler decided, and why."""

import sys

import torch

import fuse_mlir


def normalize(x: torch.Tensor) -> torch.Tensor:
    """x [n, m] -> [n, m]: centred rows, then each column's share. Rows and columns are reduced in turn."""
    y = (x - x.mean(1, keepdim=True)).exp()
    return y / y.sum(0)


def main() -> int:
    """Prints the remarks of fusion; 0 when there are any."""
    graphs = []
    compiled = torch.compile(normalize, backend=fuse_mlir.backend, options={"on_compiled": graphs.append})
    compiled(torch.randn(128, 256))
    print(graphs[0].remarks.render("text"))
    return 0 if graphs[0].remarks.items else 1


if __name__ == "__main__":
    sys.exit(main())
