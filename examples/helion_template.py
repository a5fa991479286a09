"""Helion kernels as templates: what stands in front of them and behind them is computed in the Triton kernel
that Helion generates.

    python examples/helion_template.py   # needs helion

Helion makes two functions of a kernel and a configuration: a Triton kernel, and a host function.  The host
function makes the outputs and calls ``_launcher(kernel, grid, *arguments, num_warps=.., num_stages=..)``.  It
runs here on fake tensors, with a launcher that records the call.  Its code is for fixed sizes, so that a call
with others compiles anew.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import helion
import helion.language as hl
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import fuse_mlir
from fuse_mlir.templates import TemplateCall, TemplateKernel, TemplateTensor, register


def helion_op(name: str, kernel: Any, fake: Callable[..., Any], config: Any = None) -> Callable[..., Any]:
    """An op ``lib::name`` that runs a Helion kernel, and the template of it.

    kernel: a function under ``@helion.kernel`` that writes to no argument.  fake: what it returns, without
    values.  config: a ``helion.Config``; None for the kernel's first.  A template has one configuration: tune
    the kernel first.
    """
    config = config or kernel.configs[0]
    schema = torch.library.infer_schema(kernel.fn, mutates_args=())
    op = torch.library.custom_op(name, kernel.__call__, mutates_args=(), schema=schema)
    op.register_fake(fake)

    @register(op._opoverload)
    def template(call: TemplateCall) -> TemplateKernel | None:
        tensors = list(call.inputs.values())
        recorded = Recorded.of(kernel, config, tensors)
        return recorded.answer(tensors, list(call.outputs.values()))

    return op


class Recorded:
    """A run of the host function.  inputs: fake tensors and other values.  outputs: what it returns."""

    def __init__(self, inputs: list[Any]) -> None:
        self.inputs = inputs
        self.outputs: list[torch.Tensor] = []
        self.launches: list[tuple[Any, Any, tuple[Any, ...], dict[str, Any]]] = []

    @classmethod
    def of(cls, kernel: Any, config: Any, values: Sequence[Any]) -> "Recorded":
        with FakeTensorMode():
            self = cls([_fake(value) for value in values])
            host = kernel.bind(tuple(self.inputs)).compile_config(config)
            made = host(*self.inputs, _launcher=self._launch)
        self.outputs = [made] if isinstance(made, torch.Tensor) else list(made)
        return self

    def _launch(self, kernel: Any, grid: Any, *given: Any, **options: Any) -> None:
        self.launches.append((kernel, grid, given, options))

    def answer(self, tensors: list[Any], outputs: list[TemplateTensor]) -> TemplateKernel | None:
        """None where the host function does more than to launch one kernel on its own tensors."""
        if len(self.launches) != 1:
            return None
        kernel, grid, given, options = self.launches[0]
        known = {id(fake): t for fake, t in zip(self.inputs + self.outputs, tensors + outputs, strict=True)}
        if any(isinstance(v, torch.Tensor) and id(v) not in known for v in given):
            return None
        if options.keys() - {"num_warps", "num_stages"}:
            return None
        arguments = dict(zip((p.name for p in kernel.params), given, strict=True))
        arguments = {
            n: known.get(id(v), v) if isinstance(v, torch.Tensor) else v for n, v in arguments.items()
        }
        return TemplateKernel(kernel, arguments, grid, **options)


def _fake(value: Any) -> Any:
    """A fake tensor like a tensor of the template's call.  Helion generates code for these sizes."""
    if not isinstance(value, (TemplateTensor, torch.Tensor)):
        return value
    strides = value.strides if isinstance(value, TemplateTensor) else value.stride()
    sizes = ([int(n) for n in numbers] for numbers in (value.shape, strides))
    return torch.empty_strided(*sizes, dtype=value.dtype, device=value.device)


@helion.kernel(config=helion.Config(block_sizes=[1]))
def softmax(x: torch.Tensor) -> torch.Tensor:
    """Of each row."""
    out = torch.empty_like(x)
    for row in hl.tile(x.size(0)):
        out[row, :] = torch.softmax(x[row, :], dim=1)
    return out


def main() -> int:
    """Prints what was fused; 0 if the program is one launch and right."""
    op, graphs = helion_op("helion_example::softmax", softmax, torch.empty_like), []

    def scores(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return op(x * scale).to(torch.bfloat16)

    compiled = torch.compile(scores, backend=fuse_mlir.backend, options={"on_compiled": graphs.append})
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, scale = torch.randn(256, 1000, device=device), torch.randn(1000, device=device)
    found, expected = compiled(x, scale), (x * scale).double().softmax(1)
    (graph,) = graphs
    print(graph.launches_before, "->", graph.launches_after, "launches")
    print(*(r.message for r in graph.remarks.items if r.pass_name.startswith("fuse-user")), sep="\n")
    close = torch.allclose(found.double(), expected, rtol=2**-8, atol=1e-6)
    return 0 if graph.launches_after == 1 and close else 1


if __name__ == "__main__":
    sys.exit(main())
