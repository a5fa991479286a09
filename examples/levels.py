"""One function at every level of the IR, then what runs of it on a GPU.

Prints, in this order: the FX graph that AOTAutograd gives, the module at each level (tiled for an H200,
whether or not there is one), the launch plan, and the text that Triton compiles.
docs/architecture.md explains parts of it.  No kernel is launched on a GPU.
"""

import torch

import fuse_mlir
from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.runtime.plans.make_plan import make_plan
from fuse_mlir.compiler.runtime.plans.python_source import python_source
from fuse_mlir.passes.pipeline import LEVELS


def rows(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A sum for each row: three ops, and three kernels at first."""
    return torch.relu(x + bias).sum(1)


def main() -> int:
    x, bias = torch.randn(64, 256), torch.randn(256)
    compiled = []

    def show(graph: torch.fx.Graph) -> None:
        if not compiled:
            print(f"// FX graph\n{graph}\n")

    for level in LEVELS:
        torch.compiler.reset()
        options = {
            "fx_pass": show,
            "on_compiled": compiled.append,
            "interpret_level": level,
            "hardware": "h200",
        }
        torch.compile(rows, backend=fuse_mlir.backend, options=options)(x, bias)
        print(f"// level: {level}\n{compiled[-1].module}")
    planned = compiled[-1].module
    print(f"# launch plan\n{python_source(make_plan(planned)).strip()}\n")
    for name, source in kernel_sources(planned).items():
        print(f"// TTIR of {name}\n{source.text}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
