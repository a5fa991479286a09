"""Stored training steps: AOTAutograd wraps one op for the forward and one for the backward program."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from made_up_gpu import made_up_gpu
from stored_programs import entries
from torch import Tensor
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.compiler.driver import captured_compilation, compilation
from fuse_mlir.compiler.driver.program import CompiledGraph
from fuse_mlir.compiler.frontend.autograd import stand_in
from fuse_mlir.compiler.runtime.gpu import load
from fuse_mlir.compiler.runtime.interpreter.launchers import interpreted_launchers

_executable = compilation.executable


@contextlib.contextmanager
def numbers() -> Iterator[None]:
    """As ``made_up_gpu``, but a launch interprets its kernel, also of a program that comes from the cache."""
    known: dict[str, dict[str, Callable[..., None]]] = {}

    def executable(module: Any, *args: Any, **kwargs: Any) -> compilation.Executable:
        made = _executable(module, *args, **kwargs)
        assert made.plan is not None
        known[made.plan] = interpreted_launchers(module)
        return made

    with (
        made_up_gpu(),
        mock.patch.object(compilation, "executable", executable),
        mock.patch.object(load, "load_kernels", lambda plan, kernels: known[plan]),
    ):
        yield


class Block(torch.nn.Module):
    """A norm, a product and a loss; gives a value without a gradient, and one that backward also reads."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(24)
        self.up, self.down = torch.nn.Linear(24, 40), torch.nn.Linear(40, 24)
        self.idle = torch.nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor, labels: Tensor, unused: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = torch.tanh(self.up(self.norm(x)))
        logits = self.down(hidden) + x
        return hidden, logits.argmax(-1), F.cross_entropy(logits, labels) + 0 * self.idle.sum()


def inputs() -> tuple[Tensor, ...]:
    torch.manual_seed(0)
    return torch.randn(6, 24), torch.arange(6), torch.ones(2)


def run(
    model: Callable[..., Any], arguments: tuple[Any, ...], folder: Path, **options: Any
) -> tuple[Any, list[CompiledGraph]]:
    torch._dynamo.reset()
    graphs: list[CompiledGraph] = []
    given = {"cache_dir": str(folder), "on_compiled": graphs.append, "hardware": "h200", **options}
    call = torch.compile(model, backend=fuse_mlir.backend, options=given, dynamic=False)
    return call(*arguments), graphs


def trained(
    model: torch.nn.Module, arguments: tuple[Any, ...], folder: Path, **options: Any
) -> tuple[list[Any], list[bool]]:
    """Results and gradients of a step, and whether each graph was cached."""
    model.zero_grad()
    (hidden, best, loss), graphs = run(model, arguments, folder, **options)
    assert hidden.requires_grad and loss.requires_grad and not best.requires_grad
    (loss + hidden.square().mean()).backward()
    gradients = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    assert [g.name for g in graphs] == ["forward", "backward"]
    return [hidden, best, loss, *gradients], [g.cached for g in graphs]


def in_float64(model: torch.nn.Module, arguments: tuple[Any, ...]) -> list[Any]:
    model = model.double()
    model.zero_grad()
    x, labels, unused = arguments
    hidden, best, loss = model(x.double(), labels, unused)
    (loss + hidden.square().mean()).backward()
    return [hidden, best, loss, *[p.grad for p in model.parameters()]]


def compare(found: list[Any], wanted: list[Any], tolerance: float = 2e-5) -> None:
    for have, want in zip(found, wanted, strict=True):
        assert (have is None) == (want is None)
        if have is not None:
            torch.testing.assert_close(have.double(), want.double(), rtol=tolerance, atol=tolerance / 10)


def test_a_stored_step_gives_results_and_gradients(tmp_path: Path, monkeypatch: Any) -> None:
    model, arguments = Block(), inputs()
    with numbers():
        first, cached = trained(model, arguments, tmp_path)
        assert cached == [False, False] and len(entries(tmp_path, ".trained")) == 1
        monkeypatch.setattr(captured_compilation, "compile_captured", None)  # it is not called
        second, cached = trained(model, arguments, tmp_path)
    assert cached == [True, True]
    wanted = in_float64(model, arguments)
    compare(first, wanted)
    compare(second, wanted)


def test_gradients_of_inputs_that_are_no_leaves(tmp_path: Path) -> None:
    def scaled(x: Tensor, w: Tensor) -> Tensor:
        return (x * w).sin().sum(-1) * x.detach()[:, 0]

    with numbers():
        for cached in (False, True):
            w = torch.linspace(0, 1, 24).requires_grad_()
            x = torch.linspace(-1, 1, 6 * 24).reshape(6, 24).requires_grad_()
            y, graphs = run(scaled, (x * 2, w), tmp_path)
            y.sum().backward()
            assert graphs[0].cached == cached and graphs[1].cached == cached
            exact = [t.detach().double().requires_grad_() for t in (x, w)]
            scaled(exact[0] * 2, exact[1]).sum().backward()
            compare([x.grad, w.grad], [t.grad for t in exact])


@pytest.mark.parametrize("retain", [False, True])
def test_the_graph_is_kept_as_long_as_without_a_cache(retain: bool, tmp_path: Path) -> None:
    told = []
    for _ in range(2):
        model, arguments = Block(), inputs()
        with made_up_gpu():
            (_, _, loss), _ = run(model, arguments, tmp_path)
            loss.backward(retain_graph=retain)
            try:
                loss.backward()
                told.append("twice")
            except RuntimeError as error:
                told.append(str(error))
    assert told[0] == told[1]


def test_a_stand_in_that_becomes_another_graph_is_passed_by(
    tmp_path: Path, monkeypatch: Any, caplog: Any
) -> None:
    model, arguments = Block(), inputs()
    with numbers():
        trained(model, arguments, tmp_path)
        monkeypatch.setattr(stand_in, "_only", lambda graph, name: _refuse())
        with caplog.at_level(logging.WARNING, logger="fuse_mlir"):
            found, cached = trained(model, arguments, tmp_path)
    assert "a stored training step is passed by: another graph" in caplog.text
    assert cached == [True, True]  # by what AOTAutograd made of the whole graph
    compare(found, in_float64(model, arguments))


def _refuse() -> Any:
    raise stand_in.StandInMismatch("another graph")


@pytest.mark.parametrize("suffix", [".trained", ".program"])
def test_a_damaged_entry_is_mended(suffix: str, tmp_path: Path) -> None:
    model, arguments = Block(), inputs()
    with made_up_gpu():
        trained(model, arguments, tmp_path)
        for path in entries(tmp_path, suffix):
            path.write_bytes(path.read_bytes()[:-1])
        _, cached = trained(model, arguments, tmp_path)
        assert cached == [suffix == ".trained"] * 2
        stored = len(entries(tmp_path, ".trained"))
        assert stored == 1 and trained(model, arguments, tmp_path)[1] == [True, True]


@pytest.mark.gpu
def test_a_stored_step_on_the_gpu(tmp_path: Path) -> None:
    """The second compilation, of a fresh Dynamo with the folder of the first, runs the stored programs."""
    model, arguments = Block().cuda(), tuple(x.cuda() for x in inputs())
    given = {"hardware": "auto"}
    first, cached = trained(model, arguments, tmp_path, **given)
    assert cached == [False, False] and len(entries(tmp_path, ".trained")) == 1
    second, cached = trained(model, arguments, tmp_path, **given)
    assert cached == [True, True]
    for a, b in zip(first, second, strict=True):
        assert (a is None) == (b is None)
        assert a is None or torch.equal(a, b)
    wanted = in_float64(model, arguments)
    compare(first, wanted, 1e-4)
    compare(second, wanted, 1e-4)


# ---- what is not stored as a step --------------------------------------------------------------------------


def in_place(x: Tensor, w: Tensor) -> Tensor:
    x.mul_(2)
    return (x * w).sin()


def view_of_an_input(x: Tensor, w: Tensor) -> Any:
    return x.view(24, 6), (x * w).sin()


def view_of_a_result(x: Tensor, w: Tensor) -> Any:
    y = x * w
    return y, y.view(24, 6)


def nothing_made(x: Tensor, w: Tensor) -> Tensor:
    return x * w  # x and w are saved, and nothing else: the graph may run backward again


@pytest.mark.parametrize("function", [in_place, view_of_an_input, view_of_a_result, nothing_made])
def test_what_more_than_one_op_is_needed_for(function: Any, tmp_path: Path) -> None:
    stored = function is nothing_made
    for cached in (False, True):
        x, w = torch.ones(6, 24), torch.ones(24, requires_grad=True)
        with made_up_gpu():
            results, graphs = run(function, (x, w), tmp_path)
            torch.utils._pytree.tree_leaves(results)[-1].sum().backward()
        assert {g.cached for g in graphs} == {cached}
        assert len(entries(tmp_path, ".trained")) == stored


def test_a_result_given_twice_and_sizes_that_vary_are_not_said() -> None:
    def graphs(function: Callable[..., Any], *arguments: Tensor, dynamic: bool) -> Any:
        found: list[Any] = []

        def part(joint: Any, joint_inputs: Any, **options: Any) -> Any:
            found.append(torch._functorch.partitioners.default_partition(joint, joint_inputs, **options))
            return found[-1]

        from torch._dynamo.backends.common import aot_autograd

        torch._dynamo.reset()
        keep = aot_autograd(fw_compiler=lambda gm, _: gm.forward, partition_fn=part)
        torch.compile(function, backend=keep, dynamic=dynamic)(*arguments)
        return found[0]

    x, w = torch.ones(6, 24), torch.ones(24, requires_grad=True)
    forward, backward = graphs(lambda x, w: (x * w).sin(), x, w, dynamic=False)
    step = stand_in.training_step(forward, backward, [True])
    assert step is not None and step.gradients[0] is None and step.gradients[1] is not None
    assert {kind for kind, _ in step.saved} == {"input", "made"}
    assert stand_in.training_step(*graphs(lambda x, w: (x * w).sin(), x, w, dynamic=True), [True]) is None
    output = forward.graph.find_nodes(op="output")[0]
    output.args = ((output.args[0][0], *output.args[0]),)
    assert stand_in.training_step(forward, backward, [True, True]) is None
