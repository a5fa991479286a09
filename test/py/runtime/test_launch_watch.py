"""`check_values` and `synchronous`: the first launch that goes wrong is named, with nodes and lines."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from compiling import Compiled, check

from fuse_mlir.compiler.base.launch import Launch
from fuse_mlir.compiler.base.options import OptionError, Options
from fuse_mlir.compiler.runtime.checks.launch_watch import BadValue, LaunchFailed, LaunchWatch
from fuse_mlir.compiler.runtime.interpreter.launchers import interpreted_launchers
from fuse_mlir.compiler.runtime.plans.bound_plan import LaunchPlan
from fuse_mlir.compiler.runtime.plans.extern_function import bind_externs
from fuse_mlir.compiler.runtime.plans.make_plan import make_plan
from fuse_mlir.compiler.runtime.plans.validate import validate
from fuse_mlir.compiler.runtime.rng import RngState

LEVELS = ("graph", "scheduled", "tiled", "planned")


def root_of_differences(x, w):
    y = x @ w
    z = (y - y.amax(1, keepdim=True)).sqrt()  # the line that makes NaN
    return z @ w, y + 1


LINE = root_of_differences.__code__.co_firstlineno + 2
ARGUMENTS = (torch.arange(16.0).reshape(4, 4), torch.eye(4))


@pytest.mark.parametrize("level", LEVELS)
def test_the_first_launch_that_writes_nan_is_named(level):
    compiled = Compiled(root_of_differences, {"check_values": "nan", "interpret_level": level})
    with pytest.raises(BadValue) as caught:
        compiled(*ARGUMENTS)
    [graph] = compiled.graphs
    assert caught.value.launch == graph.launches[caught.value.number]
    assert "sqrt" in caught.value.launch.nodes
    assert (__file__, LINE) in [(str(Path(f).resolve()), n) for f, n in caught.value.launch.lines]
    assert "nan (result" in str(caught.value) and "its inputs had no such value" in str(caught.value)


def test_bad_inputs_are_told():
    compiled = Compiled(lambda x: x + 1, {"check_values": "nan"})
    with pytest.raises(BadValue, match=r"its inputs \[0\] had such values already"):
        compiled(torch.tensor([1.0, float("nan")]))


@torch.library.custom_op("launch_watch::root_", mutates_args={"x"})
def root_(x: torch.Tensor) -> None:
    x.sqrt_()


def roots_in_place(x, y):
    z = x - 1
    root_(z)
    y.add_(z)
    return y * 2


def on_the_plan(function, *arguments):
    """Runs the launch plan of a watched program with interpreted kernels."""
    compiled = Compiled(function, {"interpret_level": "planned"})
    compiled(*(torch.ones_like(a) for a in arguments))
    [graph] = compiled.graphs
    plan = make_plan(graph.module, watched=True)
    validate(plan)
    watch = LaunchWatch(graph.launches, "nan")
    launchers, externs = interpreted_launchers(graph.module), bind_externs(plan, {})
    return LaunchPlan.bind(plan, launchers, externs, RngState().draw, watch=watch).run([*arguments])


def interpreted(level):
    return lambda function, *arguments: Compiled(function, {"check_values": "nan", "interpret_level": level})(
        *arguments
    )


@pytest.mark.parametrize("run", [*map(interpreted, LEVELS), on_the_plan], ids=[*LEVELS, "plan"])
def test_what_is_written_in_place_is_watched(run):
    """An op of torch that writes its operand is named; a kernel that writes over a NaN did not make it."""
    ones, nan = torch.ones(2), torch.tensor([1.0, float("nan")])
    with pytest.raises(BadValue, match=r"launch_watch\.root_\.default computes") as caught:
        run(roots_in_place, torch.tensor([2.0, 0.5]), ones.clone())
    assert caught.value.made
    with pytest.raises(BadValue, match="had such values already") as caught:
        run(roots_in_place, 2 * ones, nan.clone())
    assert not caught.value.made and "add" in caught.value.launch.nodes


def test_infinities_are_bad_only_if_asked():
    def logarithm(x):
        return x.log()

    zero = torch.zeros(3)
    Compiled(logarithm, {"check_values": "nan"})(zero)
    with pytest.raises(BadValue, match="wrote -inf"):
        Compiled(logarithm, {"check_values": "finite"})(zero)


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_right_passes(level):
    def f(x, i):
        y = torch.cat([x.sin(), x * 2])
        return y.softmax(1), y[i], x.to(torch.int32), x.new_empty(3, 4).fill_(1)

    options = {"check_values": "finite", "synchronous": True, "interpret_level": level}
    check(f, torch.randn(4, 5), torch.tensor([0, 3]), **options)


def test_a_failing_launch_is_named(monkeypatch):
    def fail():
        raise RuntimeError("device-side assert triggered")

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", fail)
    launches = [Launch("k0", "kernel", ("a",), ()), Launch("k1", "kernel", ("b",), (("model.py", 3),))]
    with pytest.raises(
        LaunchFailed, match=r"launch 1 failed: k1 computes b of model\.py:3: device-side assert"
    ):
        LaunchWatch(launches, synchronous=True)(1, (), ())


def test_graphs_cannot_be_watched():
    with pytest.raises(OptionError, match="look at single launches"):
        Options.of({"check_values": "nan"}, "reduce-overhead")


@pytest.mark.gpu
def test_on_the_gpu():
    compiled = Compiled(root_of_differences, {"check_values": "nan", "synchronous": True})
    with pytest.raises(BadValue) as caught:
        compiled(*(a.cuda() for a in ARGUMENTS))
    assert "sqrt" in caught.value.launch.nodes
    [graph] = compiled.graphs
    assert graph.source.count("watch(") == len(graph.launches)
    plain = Compiled(root_of_differences)
    plain(*(a.cuda() for a in ARGUMENTS))
    assert "watch(" not in plain.graphs[0].source


FAILING = """
import torch
from compiling import Compiled
def f(x, i):
    y = x.sin()
    return y, x[i] * 2
try:
    Compiled(f, {"synchronous": True})(torch.randn(8, 4).cuda(), torch.tensor([0, 11]).cuda())
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.gpu
def test_a_launch_that_fails_on_the_gpu_is_named():
    folder = str(Path(__file__).parent)
    path = os.pathsep.join([folder, *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", FAILING],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.startswith("LaunchFailed launch "), done.stdout + done.stderr
    assert "index" in done.stdout
