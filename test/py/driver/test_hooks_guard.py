"""Dynamo's guard on the hooks of saved tensors: left out where nothing is differentiated, kept elsewhere."""

from collections import Counter

import pytest
import torch
from made_up_gpu import made_up_gpu
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch.autograd.graph import saved_tensors_hooks

import fuse_mlir

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def square(x: torch.Tensor) -> torch.Tensor:
    return x * x + 1


def guards_of(function: object) -> Counter[str]:
    """How often guards of the compiled code of ``function`` speak of the hooks, and of grad mode."""
    (entry,) = _debug_get_cache_entry_list(function.__code__)  # type: ignore[attr-defined]
    text = str(entry.guard_manager)
    return Counter({name: text.count(name) for name in ("saved_tensors_hooks", "grad_mode", "TENSOR_MATCH")})


def test_an_inference_graph_has_all_guards_but_this() -> None:
    run = torch.compile(square, backend=fuse_mlir.backend)
    x = torch.arange(4.0)
    torch.testing.assert_close(run(x), square(x), rtol=0, atol=0)
    found = guards_of(square)
    assert not found["saved_tensors_hooks"] and found["grad_mode"] and found["TENSOR_MATCH"]


def test_hooks_change_no_inference_and_reach_training() -> None:
    compiled: list[object] = []
    run = torch.compile(square, backend=fuse_mlir.backend, options={"on_compiled": compiled.append})
    packed: list[torch.Tensor] = []

    def pack(x: torch.Tensor) -> torch.Tensor:
        packed.append(x)
        return x

    x = torch.arange(4.0)
    run(x)
    with saved_tensors_hooks(pack, lambda x: x):
        torch.testing.assert_close(run(x), square(x), rtol=0, atol=0)
        assert len(compiled) == 1 and not packed
        leaf = x.clone().requires_grad_()
        run(leaf).sum().backward()  # another graph, by the guard on `requires_grad`
        assert len(compiled) == 3 and packed
        torch.testing.assert_close(leaf.grad, 2 * x, rtol=0, atol=0)
        packed.clear()
        with torch.no_grad():
            assert not run(leaf).requires_grad
        assert not packed


def test_a_training_graph_keeps_the_guard() -> None:
    run = torch.compile(square, backend=fuse_mlir.backend)
    run(torch.ones(4, requires_grad=True))
    assert guards_of(square)["saved_tensors_hooks"]


def test_a_program_from_the_cache_has_the_same_guards(tmp_path: object) -> None:
    """Kernels are not run here, so nothing is said of the numbers."""
    cached: list[bool] = []
    options = {"cache_dir": str(tmp_path), "on_compiled": lambda graph: cached.append(graph.cached)}
    with made_up_gpu():
        for _ in range(2):
            torch._dynamo.reset()
            torch.compile(square, backend=fuse_mlir.backend, options=options)(torch.ones(32))
            assert not guards_of(square)["saved_tensors_hooks"]
    assert cached == [False, True]


def test_a_call_outside_of_a_compilation_changes_nothing() -> None:
    graph = torch.fx.symbolic_trace(lambda x: (x + 1,))
    (result,) = fuse_mlir.backend(graph, [torch.ones(2)])(torch.ones(2))
    torch.testing.assert_close(result, torch.full((2,), 2.0), rtol=0, atol=0)
