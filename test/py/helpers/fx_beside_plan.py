"""FX output beside the launch plan: every call of a graph that is compiled with `output="fx"` runs both, on
equal arguments, and compares bits. Shared by tests, no test itself.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from compiling import cloned
from torch import Tensor

from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.driver import compiled_graph
from fuse_mlir.compiler.driver.program import CompiledGraph

_fx_call = compiled_graph._fx_call
Call = Callable[[list[Any]], list[Any]]


@contextlib.contextmanager
def fx_beside_plan() -> Iterator[list[CompiledGraph]]:
    """Yields the graphs whose FX output ran and equalled the plan, once for each call."""
    equal: list[CompiledGraph] = []

    def both(compiled: CompiledGraph, options: Options) -> Call:
        plan, fx = compiled.call, _fx_call(compiled, options)

        def call(args: list[Any]) -> list[Any]:
            given, copies = list(args), cloned(args)
            state = torch.get_rng_state()
            with torch.no_grad():
                found, wanted = _outcome(plan, copies)
            after = torch.get_rng_state()
            torch.set_rng_state(state)
            results, observed = _outcome(fx, given)
            assert torch.equal(torch.get_rng_state(), after), "another number of random numbers"
            assert not args or args is not given
            assert_same_bits([*results, *observed], [*found, *wanted])
            assert _owners(results, given) == _owners(found, copies)
            equal.append(compiled)
            args.clear()
            return results

        call._boxed_call = True  # type: ignore[attr-defined]
        return call

    with mock.patch.object(compiled_graph, "_fx_call", both):
        yield equal


def _outcome(call: Call, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The results, and the tensors among the arguments as they are left."""
    taken = list(args)
    results = call(taken)
    assert not taken, "the call empties its list"
    return results, [a for a in args if isinstance(a, Tensor)]


def assert_same_bits(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Tensors of equal layout and bits, and equal numbers."""
    for number, (a, b) in enumerate(zip(found, wanted, strict=True)):
        if not isinstance(a, Tensor):
            assert a == b, f"value {number}"
            continue
        assert (a.dtype, a.shape, _strides(a)) == (b.dtype, b.shape, _strides(b)), f"tensor {number}"
        bits = [t.detach().contiguous().flatten().view(torch.uint8) for t in (a, b)]
        assert torch.equal(*bits), f"tensor {number} has other bits"


def _strides(tensor: Tensor) -> list[int]:
    return [s for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1] if tensor.numel() else []


def _owners(results: Sequence[Any], args: Sequence[Any]) -> list[int]:
    """For each result the first of arguments and results that has its storage."""
    tensors = [v for v in (*args, *results) if isinstance(v, Tensor) and v.untyped_storage().nbytes()]
    keys = [t.untyped_storage().data_ptr() for t in tensors]
    return [keys.index(key) for key in keys]
