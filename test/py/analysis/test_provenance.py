"""Every launch names the FX nodes and the lines of the program that it came from; the log tells them."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from compiling import Compiled
from torch.nn import functional as F

from fuse_mlir.compiler.analysis.program.provenance import Launch, launches, lines, node_names
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import LEVELS, Settings, default_pipeline

HERE = str(Path(__file__))


@torch.library.custom_op("fuse_provenance::opaque", mutates_args=())
def opaque(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@opaque.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def program(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Lines are counted from the `def`: the tests name them."""
    y = F.softmax(x @ w, -1)
    z = opaque(y).flip(0)
    a = z.cumsum(0)
    b = F.dropout(a, 0.5)
    first = x.exp()
    second = w.exp()
    return b.sum(0), first, second, x.new_empty(0), torch.rand_like(x).sort(0)[0]


FIRST = program.__code__.co_firstlineno


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def graph_at(level: str):
    compiled = Compiled(program, {"interpret_level": level, "hardware": "h200"})
    compiled(torch.randn(16, 16), torch.randn(16, 16))
    return compiled.graphs[0]


@pytest.mark.parametrize("level", LEVELS)
def test_every_launch_names_its_nodes_and_lines(level: str) -> None:
    graph = graph_at(level)
    assert graph.launches_after + graph.externs == len(graph.launches) > 4
    for launch in graph.launches:
        assert launch.nodes, launch
        assert launch.lines, launch
        for file, line in launch.lines:
            assert file == HERE and FIRST + 2 <= line <= FIRST + 8, launch
    by_name = {launch.name: launch for launch in graph.launches if launch.kind == "torch"}
    assert by_name["aten.mm.default"].lines == ((HERE, FIRST + 2),)
    assert by_name["fuse_provenance.opaque.default"].lines == ((HERE, FIRST + 3),)
    assert by_name["fuse_provenance.opaque.default"].nodes == ("opaque",)


def test_a_fused_kernel_names_all_of_its_lines() -> None:
    kernels = [launch for launch in graph_at("scheduled").launches if launch.kind == "kernel"]
    together = {line - FIRST for launch in kernels for _, line in launch.lines}
    assert together >= {2, 3, 4, 5, 6, 7, 8}
    assert any(len(launch.lines) > 1 and len(launch.nodes) > 2 for launch in kernels)


def test_calls_of_one_kernel_keep_their_own_lines() -> None:
    twice = [launch for launch in graph_at("graph").launches if set(launch.nodes) <= {"exp_1", "exp_2"}]
    assert [launch.lines for launch in twice] == [((HERE, FIRST + 6),), ((HERE, FIRST + 7),)]
    graph = graph_at("planned")
    shared = [launch for launch in graph.launches if set(launch.nodes) & {"exp_1", "exp_2"}]
    assert {line for launch in shared for line in launch.lines} >= {(HERE, FIRST + 6), (HERE, FIRST + 7)}


def test_the_backward_graph_names_the_forwards_lines() -> None:
    def loss(x):
        return F.softmax(x.sin(), -1).square().sum()

    compiled = Compiled(loss)
    compiled(torch.randn(4, 8, requires_grad=True)).backward()
    forward, backward = compiled.graphs
    here = loss.__code__.co_firstlineno + 1
    for graph in (forward, backward):
        assert graph.launches
        for launch in graph.launches:
            assert launch.lines == ((HERE, here),) and launch.nodes


SPLIT = """
module attributes {fuse.device = "cpu"} {
  func.func @main(%x: tensor<1048576xf32>) -> tensor<f32> {
    %o = "fuse.empty"() {syms = []} : () -> tensor<f32>
    %y = call @sum(%x, %o) : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32> loc("total"("model.py":7:0))
    return %y : tensor<f32>
  }
  func.func private @sum(%x: tensor<1048576xf32>, %o: tensor<f32>) -> tensor<f32>
      attributes {fuse.kernel, fuse.dims = {d0 = "1048576"}, fuse.ties = array<i64: 1>} {
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<1048576xf32>, i1, f32) -> f32
    %s = "fuse.reduce"(%v) {kind = "sum", over = ["d0"]} : (f32) -> f32
    %r = "fuse.store"(%o, %s, %true) {at = [], mode = "set"} : (tensor<f32>, f32, i1) -> tensor<f32>
    return %r : tensor<f32>
  }
}
"""


def both_sums(x):
    y = x * 2
    return y.sum(0), y.sum(1)


def test_a_kernel_names_what_it_computes_again_and_no_more() -> None:
    """One kernel doubles and sums columns; the other doubles again, and the sum of columns is not its."""
    names = {}
    for level in ("scheduled", "planned"):
        compiled = Compiled(both_sums, {"interpret_level": level, "hardware": "h200"})
        compiled(torch.randn(1000, 500))
        names[level] = [(launch.name, launch.nodes) for launch in compiled.graphs[0].launches]
    rows = ("fused_mul_sum_1", ("mul", "sum_2"))
    assert names["scheduled"] == [("fused_mul_sum_0", ("mul", "sum_1")), rows]
    slices = [("fused_mul_sum_0_slices", ("mul", "sum_1")), ("fused_mul_sum_0_rest", ("sum_1",))]
    assert names["planned"] == [*slices, rows]


def test_kernels_that_passes_add_say_whose_they_are() -> None:
    module = ir.Module.parse(SPLIT, make_context())
    PassManager(default_pipeline("planned", Settings("h200"))).run(module)
    found = launches(module)
    assert len(found) > 1
    for launch in found:
        assert launch.nodes == ("total",) and launch.lines == (("model.py", 7),)


def test_locations_of_every_form() -> None:
    with make_context(), ir.Location.unknown():
        file = ir.Location.file("m.py", 3, 1)
        name = ir.Location.name("add", file)
        fused = ir.Location.fused([name, ir.Location.name("mul"), file])
        site = ir.Location.callsite(fused, [ir.Location.file("n.py", 9, 1)])
        assert list(node_names(site)) == ["add", "mul"]
        assert list(lines(site)) == [("m.py", 3), ("m.py", 3), ("n.py", 9)]
        assert list(lines(ir.Location.unknown())) == []
    assert str(Launch("k", "kernel", ("add", "mul"), (("m.py", 3),))) == "k computes add, mul of m.py:3"
    assert str(Launch("k", "kernel", (), ())) == "k computes no node of the graph of no line of the program"


# ---- the log -----------------------------------------------------------------------------------------------

LOGGED = """
import torch, fuse_mlir
def f(x):
    return x.exp().sum(0)
torch.compile(f, backend=fuse_mlir.backend)(torch.randn(3, 40))
"""


@pytest.mark.parametrize(
    ("setting", "info", "debug"),
    [
        ("+fuse_mlir", True, True),
        pytest.param("fuse_mlir", True, False, marks=pytest.mark.slow),
        pytest.param("-fuse_mlir", False, False, marks=pytest.mark.slow),
    ],
)
def test_torch_logs_turns_the_log_on(setting, info, debug, tmp_path, monkeypatch) -> None:
    script = tmp_path / "logged.py"
    script.write_text(LOGGED.lstrip())
    monkeypatch.setenv("TORCH_LOGS", setting)
    monkeypatch.setenv("PYTHONPATH", ":".join(p for p in sys.path if p))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ("inference: 2 kernels -> 1 launches, 0 torch ops (0 fallbacks)" in done.stderr) is info
    assert (f"computes exp, sum_1 of {script}:3" in done.stderr) is debug
    assert ('"fuse.load"' in done.stderr) is debug


def test_the_log_is_silent_by_default(caplog) -> None:
    with caplog.at_level(logging.WARNING, logger="fuse_mlir"):
        Compiled(lambda x: x.exp().sum(0))(torch.randn(3, 40))
    assert caplog.records == []


class Outer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.LayerNorm(4)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


def test_where_all_frames_are_torchs_the_module_is_named() -> None:
    """A ``Sequential`` calls its modules in a file of torch's: only what it is in has a line."""
    compiled = Compiled(Outer().net)
    compiled(torch.randn(8, 4)).sum().backward()
    forward, backward = compiled.graphs
    assert {launch.lines for launch in forward.launches} == {
        (("module 0 (Linear)", 0),),
        (("module 1.0 (LayerNorm)", 0),),
    }
    assert {line for launch in backward.launches for line in launch.lines} <= {
        line for launch in forward.launches for line in launch.lines
    }
    assert all(launch.lines for launch in backward.launches)
    assert "of module 0 (Linear)" in str(forward.launches[0])
    missed = next(line for line in forward.remarks.render("text").splitlines() if line.startswith("missed"))
    assert missed.endswith("] at module 0 (Linear), module 1.0 (LayerNorm)")


def test_a_line_of_the_users_comes_before_the_module() -> None:
    compiled = Compiled(Outer())
    compiled(torch.randn(8, 4))
    line = Outer.forward.__code__.co_firstlineno + 1
    assert {at for launch in compiled.graphs[0].launches for at in launch.lines} == {(HERE, line)}
