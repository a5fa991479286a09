"""Functions with higher-order ops, against eager and a float64 run: shared by tests, no test itself."""

from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import torch
from compiling import Compiled, cloned
from plan_on_cpu import cpu_plan
from torch import Tensor
from torch.utils import _pytree as pytree

from fuse_mlir.compiler.driver import compilation

#: Where a program runs: the interpreter at the first or the last level, or the launch plan.
WHERE = ("graph", "planned", "launch plan")


def doubled(values: Any) -> Any:
    return pytree.tree_map(
        lambda v: v.detach().double() if isinstance(v, Tensor) and v.is_floating_point() else v, values
    )


def assert_matches(found: Any, expected: Any, reference: Any) -> None:
    """No further from the float64 run than eager is, up to some roundings; the same sizes, strides, types."""
    for a, b, exact in zip(*(pytree.tree_leaves(v) for v in (found, expected, reference)), strict=True):
        if not isinstance(b, Tensor):
            assert type(a) is type(b) and a == b
            continue
        assert (a.shape, a.dtype, a.device) == (b.shape, b.dtype, b.device)
        steps = zip(a.shape, a.stride(), b.stride(), strict=True)
        assert all(n == 1 or s == t for n, s, t in steps), (a.stride(), b.stride())
        if not b.is_floating_point():
            assert torch.equal(a, b)
            continue
        scale = exact.abs().max().item() if exact.numel() else 0.0
        error, eager = ((v.double() - exact).abs().max().item() if v.numel() else 0.0 for v in (a, b))
        assert error <= 2 * eager + 16 * torch.finfo(b.dtype).eps * scale, (error, eager)


def check(
    function: Callable[..., Any],
    *runs: tuple[Any, ...],
    dynamic: bool | None = False,
    train: bool = False,
    where: str = "planned",
    whole: bool = True,
    **options: Any,
) -> Compiled:
    """Compiles once and compares every run; with ``train`` the gradients too.  ``whole``: nothing falls back
    and no higher-order op runs as itself.
    """
    level = "planned" if where == "launch plan" else where
    compiled = Compiled(function, {"interpret_level": level, **options}, dynamic)
    with mock.patch.object(
        compilation, "executable", _plan if where == "launch plan" else compilation.executable
    ):
        _runs(function, compiled, runs, train)
    if whole:
        names = [launch.name for g in compiled.graphs for launch in g.launches]
        assert not [n for n in names if n.startswith("higher_order")], names
        fallbacks = [f for g in compiled.graphs for f in g.fallbacks]
        assert not fallbacks
    return compiled


def _plan(module: Any, objects: Any, options: Any, **_: Any) -> compilation.Executable:
    return cpu_plan(module, objects)


def _runs(
    function: Callable[..., Any], compiled: Compiled, runs: Sequence[tuple[Any, ...]], train: bool
) -> None:
    for args in runs:
        results = []
        for call, given in ((compiled, args), (function, args), (function, doubled(args))):
            own = cloned([v.detach() if isinstance(v, Tensor) else v for v in given])
            if not train:
                with torch.no_grad():
                    results.append(call(*own))
                continue
            for v in own:
                if isinstance(v, Tensor) and v.is_floating_point():
                    v.requires_grad_()
            out = call(*own)
            sum(v.square().sum() for v in pytree.tree_leaves(out) if v.is_floating_point()).backward()
            grads = [v.grad for v in own if isinstance(v, Tensor) and v.is_floating_point()]
            results.append(pytree.tree_map(lambda v: v.detach(), (out, [g for g in grads if g is not None])))
        assert_matches(*results)
