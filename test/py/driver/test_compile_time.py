"""What makes compiling fast changes no answer: the verifier that remembers, the collector; and timings."""

import contextlib
import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from new_process import python
from repository import ROOT

import fuse_mlir
from fuse_mlir.bench.compile_time import growth_of, measure_layers
from fuse_mlir.compiler.base.collector import collector_paused
from fuse_mlir.compiler.base.diagnostics import collecting
from fuse_mlir.compiler.base.options import OptionError, Options
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.verifier.verifier import VerificationError, Verifier
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pass_base import Pass
from fuse_mlir.passes.pipeline import LEVELS, Settings, default_pipeline, levels_reached

MODULE = """
func.func @main(%x: tensor<8xf32>, %o: tensor<8xf32>, %p: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @copy(%x, %o) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %z = call @op(%y) : (tensor<8xf32>) -> tensor<8xf32>
  return %z : tensor<8xf32>
}
func.func private @copy(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.kernel, fuse.dims = {d0 = "8"}, fuse.ties = array<i64: 1>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<8xf32>, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {at = ["d0"], mode = "set"} : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func private @op(tensor<8xf32>) -> tensor<8xf32>
    attributes {fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>]}
"""


def function(module: ir.Module, name: str) -> ir.Operation:
    return next(op.operation for op in module.body.operations if op.attributes["sym_name"].value == name)


def load_elsewhere(module: ir.Module) -> None:
    body = function(module, "copy").regions[0].blocks[0]
    load = next(op.operation for op in body.operations if op.operation.name == "fuse.load")
    load.attributes["at"] = ir.ArrayAttr.get([ir.StringAttr.get("d1")])


def lose_the_kernel(module: ir.Module) -> None:
    del function(module, "copy").attributes["fuse.kernel"]


def tie_to_the_source(module: ir.Module) -> None:
    function(module, "copy").attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get([0])


def drop_the_operand(module: ir.Module) -> None:
    function(module, "op").attributes["fuse.args"] = ir.ArrayAttr.get([])


def name_no_op(module: ir.Module) -> None:
    function(module, "op").attributes["fuse.extern"] = ir.StringAttr.get("")


def overwrite_before_the_read(module: ir.Module) -> None:
    first, second, *_ = (op.operation for op in function(module, "main").regions[0].blocks[0].operations)
    again = first.clone(ir.InsertionPoint(second))
    again.operands[0] = function(module, "main").regions[0].blocks[0].arguments[2]


BREAKS = (
    load_elsewhere, lose_the_kernel, tie_to_the_source, drop_the_operand, name_no_op,
    overwrite_before_the_read,
)  # fmt: skip


@pytest.mark.parametrize("break_it", BREAKS, ids=lambda f: f.__name__)
def test_a_verifier_that_knows_the_module_sees_what_a_pass_broke(break_it: Callable[[Any], None]) -> None:
    with make_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(MODULE)
        verifier = Verifier()
        verifier.verify(module)
        verifier.verify(module)
        break_it(module)
        messages = []
        for known in (verifier, verifier, Verifier()):
            with collecting(context) as found, pytest.raises(VerificationError):
                known.verify(module)
            messages.append([d.message for d in found.items])
        assert messages[0] and messages[0] == messages[1] == messages[2]


def test_a_verifier_accepts_what_was_mended() -> None:
    with make_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(MODULE)
        verifier = Verifier()
        verifier.verify(module)
        ties = function(module, "copy").attributes["fuse.ties"]
        tie_to_the_source(module)
        with collecting(context), pytest.raises(VerificationError):
            verifier.verify(module)
        function(module, "copy").attributes["fuse.ties"] = ties
        verifier.verify(module)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(ZeroDivisionError), collector_paused():
            assert not gc.isenabled()
            _ = 1 // 0
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_cycles_of_a_compilation_are_collected() -> None:
    class Node:
        pass

    with collector_paused():
        node = Node()
        node.itself = node
        alive = weakref.ref(node)
        del node
    kept = [[] for _ in range(gc.get_threshold()[0] + 1)]  # as any program goes on allocating
    assert kept and alive() is None


def test_every_stage_is_timed() -> None:
    run = measure_layers(1, 1)
    assert run["nodes"] > 100
    assert {"import", "fuse-vertical", "lower-to-tt", "verify", "ttir"} <= run["seconds"].keys()
    assert run["total"] == pytest.approx(sum(run["seconds"].values()), abs=1e-2)


def test_growth_is_per_node() -> None:
    runs = [{"nodes": 100, "total": 1.0}, {"nodes": 600, "total": 9.0}]
    assert growth_of(runs) == growth_of(runs[::-1]) == pytest.approx(1.5)


def test_a_compiled_graph_says_what_each_pass_took() -> None:
    compiled: list[Any] = []
    torch._dynamo.reset()
    options = {"on_compiled": compiled.append}
    torch.compile(lambda x: x.exp().sum(), backend=fuse_mlir.backend, options=options)(torch.ones(8))
    (graph,) = compiled
    assert [p.name for p in graph.passes][:2] == ["lower-control-deps", "eliminate-dead"]
    assert 0 < sum(p.run + p.verify for p in graph.passes) <= graph.seconds["passes"]


@dataclass(frozen=True)
class Spoil(Pass):
    """Ties a kernel's result to what it reads."""

    name = "spoil"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        tie_to_the_source(module)


@dataclass(frozen=True)
class Idle(Pass):
    """Does nothing."""

    name = "idle"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        pass


@pytest.mark.parametrize(
    ("each", "checkpoints", "passed"), [(True, (), 0), (False, (2,), 2), (False, (0, 2), 0), (False, (), 4)]
)
def test_the_verifier_runs_where_it_is_told(each: bool, checkpoints: tuple[int, ...], passed: int) -> None:
    with make_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(MODULE)
    manager = PassManager([Spoil(), Idle(), Idle(), Idle()], each, checkpoints=checkpoints)
    with collecting(context), contextlib.suppress(VerificationError):
        manager.run(module)
    assert len(manager.times) == passed


def test_the_levels_end_where_the_pipelines_end() -> None:
    for settings in (Settings(), Settings(tiles="tiles.json", rounding="float32", collectives="bucket")):
        ends = levels_reached("planned", settings)
        assert {n + 1: level for n, level in ends.items()} == {
            len(default_pipeline(level, settings)): level for level in LEVELS[1:]
        }
    assert levels_reached("graph") == {}


def test_the_environment_says_how_to_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Options().verify == "on"  # of all tests
    monkeypatch.delenv("FUSE_MLIR_VERIFY")
    assert Options().verify == "levels"
    monkeypatch.setenv("FUSE_MLIR_VERIFY", "sometimes")
    with pytest.raises(OptionError, match="FUSE_MLIR_VERIFY is 'sometimes'"):
        Options()


def test_the_environment_says_who_computes_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FUSE_MLIR_PRODUCTS", raising=False)
    assert Options().products == "auto"
    monkeypatch.setenv("FUSE_MLIR_PRODUCTS", "generated")
    assert Options().products == "generated" and Options(products="library").products == "library"
    monkeypatch.setenv("FUSE_MLIR_PRODUCTS", "nobody")
    with pytest.raises(
        OptionError, match="FUSE_MLIR_PRODUCTS is 'nobody': expected auto, library or generated"
    ):
        Options()


@pytest.mark.products("library")
def test_a_test_says_who_computes_products() -> None:
    assert Options().products == "library"


def test_short_loops_of_products_do_not_load_the_bindings_of_llvm(tmp_path: Path) -> None:
    """They take 50 ms."""
    cases = (ROOT / "test/lit/passes/lower-to-tt.mlir").read_text(encoding="utf-8").split("// -----")
    module = tmp_path / "loops.mlir"
    module.write_text(next(case for case in cases if "@in_steps" in case), encoding="utf-8")
    lower = f"main([{str(module)!r}, '--pass-pipeline=builtin.module(lower-to-tt)'])"
    printed = python(
        f"import sys\nfrom fuse_mlir.tools.fuse_opt import main\nassert not {lower}\n"
        "print([name for name in sys.modules if name.endswith('dialects.llvm')])"
    )
    assert "llvm.loop_annotation" in printed
    assert printed.endswith("[]\n")
