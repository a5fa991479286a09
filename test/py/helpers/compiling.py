"""Compiling small functions with the backend, and judging what they did: shared by tests, no test itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

import fuse_mlir
from fuse_mlir.bench.models.case import named_tensors
from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.bench.tolerance import judge_all
from fuse_mlir.compiler.driver.program import CompiledGraph


@dataclass
class Compiled:
    """A function compiled whole (no graph breaks), and the graphs that the backend reported."""

    function: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)
    dynamic: bool | None = False
    graphs: list[CompiledGraph] = field(default_factory=list)

    def __post_init__(self) -> None:
        torch._dynamo.reset()
        self.call = torch.compile(
            self.function,
            backend=fuse_mlir.backend,
            fullgraph=True,
            dynamic=self.dynamic,
            options={"on_compiled": self.graphs.append, **self.options},
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)


def fused_attentions(compiled: Compiled) -> int:
    """Calls of a fused attention kernel (forward) in all graphs."""
    lines = "\n".join(str(graph.module) for graph in compiled.graphs).splitlines()
    called = "aten._scaled_dot_product"
    return sum(called in line and "backward" not in line and "fuse.extern" in line for line in lines)


def with_exact_gradients(
    function: Callable[..., Tensor], given: Sequence[Tensor], options: dict[str, Any]
) -> Compiled:
    """The compiled function, once its gradients are no further from float64 than eager's.

    given: 16-bit arguments that need gradients.
    """
    exact = [a.detach().double().requires_grad_() for a in given]
    compiled = Compiled(function, options)
    found, eager, want = (
        torch.autograd.grad(f(*a).sum(), a)
        for f, a in ((compiled, given), (function, given), (function, exact))
    )
    for a, b, e in zip(found, eager, want, strict=True):
        assert (a.double() - e).norm() <= 1.05 * (b.double() - e).norm() + 1e-3 * e.norm()
    return compiled


def cloned(tensors: Sequence[Any], dtype: torch.dtype | None = None) -> list[Any]:
    """Copies with the same sizes, strides and offsets; views of one storage stay views of one copy."""
    storages: dict[tuple[int, torch.dtype], Tensor] = {}

    def clone(tensor: Any) -> Any:
        if not isinstance(tensor, Tensor):
            return tensor
        key = (tensor.untyped_storage()._cdata, tensor.dtype)
        if key not in storages:
            elements = tensor.untyped_storage().nbytes() // tensor.element_size()
            whole = tensor.detach().as_strided((elements,), (1,), 0).clone()
            storages[key] = whole.to(dtype) if dtype is not None and whole.is_floating_point() else whole
        copy = storages[key].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        return copy.requires_grad_(tensor.requires_grad)

    return [clone(tensor) for tensor in tensors]


def check(function: Callable[..., Any], *args: Any, dynamic: bool | None = False, **options: Any) -> Compiled:
    """Asserts that the compiled function does what eager does: results, their strides, mutations, aliases.

    Values are judged against a float64 run by the rule of `bench.tolerance`.
    """
    compiled = Compiled(function, options, dynamic)
    eager_args, compiled_args = cloned(args), cloned(args)
    with float64_reference():
        reference_args = cloned(args, torch.float64)
        reference = _observe(function(*reference_args), reference_args)
    expected, found = function(*eager_args), compiled(*compiled_args)
    eager, actual = _observe(expected, eager_args), _observe(found, compiled_args)
    assert_no_worse(reference, eager, actual)
    for name, tensor in eager.items():
        if tensor.numel():
            assert _layout(actual[name]) == _layout(tensor), f"strides of {name}"
    assert _aliases(found, compiled_args) == _aliases(expected, eager_args)
    assert compiled.graphs, "the backend was not called"
    return compiled


def assert_no_worse(
    reference: Mapping[str, Tensor], eager: Mapping[str, Tensor], found: Mapping[str, Tensor]
) -> None:
    """Asserts that what was found is as near to a float64 run as eager is, by the rule of
    `bench.tolerance`.
    """
    eps = max((torch.finfo(t.dtype).eps for t in eager.values() if t.is_floating_point()), default=0.0)
    wrong = [row for row in judge_all(reference, eager, found, eps) if not row.passed]
    assert not wrong, "\n".join(f"{row.name}: {row.note or row}" for row in wrong)


def _observe(results: Any, args: Sequence[Any]) -> dict[str, Tensor]:
    found = {f"output:{name}": tensor.detach() for name, tensor in named_tensors(results).items()}
    return found | {f"input:{name}": tensor.detach() for name, tensor in named_tensors(tuple(args)).items()}


def _layout(tensor: Tensor) -> list[tuple[int, int]]:
    return [(n, s) for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1]


def _aliases(results: Any, args: Sequence[Any]) -> list[tuple[str, str]]:
    """Pairs of tensors among results and arguments that share a storage."""
    tensors = list(_observe(results, args).items())
    return [
        (a, b)
        for i, (a, x) in enumerate(tensors)
        for b, y in tensors[i + 1 :]
        if x.untyped_storage().nbytes() and x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    ]
