"""A compiled program as a `torch.fx.GraphModule`: `options={"output": "fx"}` and `CompiledGraph.fx()`.

The module has a node for each launch of a kernel, each torch op, allocation and view, with your lines. What
is changed in it is what runs: this pass lets every launch say what it wrote. Run it:
`python examples/fx_output.py`.
"""

import sys

import torch

import fuse_mlir
from fuse_mlir.compiler.driver.program import CompiledGraph
from fuse_mlir.compiler.runtime.fx_output.kernels import kernel_of

told: list[str] = []


def head(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """[t, n], [n, m], [m] -> [t, m]."""
    y = torch.nn.functional.gelu(x @ weight + bias)
    return y.softmax(-1)


def tell(kernel: str, written: list[torch.Tensor]) -> None:
    """Called when a kernel has run."""
    sizes = ", ".join(str(list(t.shape)) for t in written)
    told.append(f"{kernel} wrote {sizes}, at most {max(t.abs().max().item() for t in written):.3f}")


def tell_of_launches(graph: torch.fx.Graph) -> None:
    """Puts a call of `tell` behind every launch."""
    for node in list(graph.nodes):
        if kernel_of(node) is not None:
            kernel, _grid, _read, written, _numbers = node.args
            with graph.inserting_after(node):
                graph.call_function(tell, (kernel, written))


def change(compiled: CompiledGraph) -> None:
    """Gets each graph when it is compiled."""
    module = compiled.fx()
    module.print_readable()
    tell_of_launches(module.graph)
    module.recompile()


def main() -> int:
    """Prints the module and what its launches tell; 0 where the results are equal to the last bit."""
    args = torch.randn(16, 32), torch.randn(32, 24), torch.randn(24)
    plain = torch.compile(head, backend=fuse_mlir.backend, options={"output": "fx"})(*args)
    torch._dynamo.reset()
    options = {"output": "fx", "on_compiled": change}
    changed = torch.compile(head, backend=fuse_mlir.backend, options=options)(*args)
    print("\n".join(told))
    equal = torch.equal(plain, changed)
    print(f"results are {'equal to the last bit' if equal else 'DIFFERENT'}")
    return 0 if equal and told else 1


if __name__ == "__main__":
    sys.exit(main())
