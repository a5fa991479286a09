"""What a pass leaves to the next is what the next would read."""

import re
from pathlib import Path

import pytest
import torch
from interpreted_modules import parse

from fuse_mlir.bench.scheduling_growth import GRAPHS
from fuse_mlir.compiler.analysis.fusion.graph import GroupGraph
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.frontend.importer.importer import import_graph
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes._left import leave, leaving, left_before
from fuse_mlir.passes._program import Program
from fuse_mlir.passes.fuse_horizontal import FuseHorizontal
from fuse_mlir.passes.fuse_vertical import FuseVertical
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.materialize_fusion import MaterializeFusion
from fuse_mlir.passes.pass_base import Pass
from fuse_mlir.passes.pipeline import default_pipeline
from fuse_mlir.passes.recompute_producers import RecomputeProducers

FUSING = (FuseVertical(max_ops=16), FuseHorizontal(), MaterializeFusion())


def imported(name: str, calls: int = 60) -> ir.Module:
    built = GRAPHS[name](calls)
    gm = torch.fx.GraphModule({}, built.graph)
    return import_graph(gm, built.inputs, context=make_context(), device="cpu", strict=False).module


class Reads:
    """Counts how often the groups of a module are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        of = GroupGraph.of

        def counted(module: ir.Module, grouped_only: bool = False) -> GroupGraph:
            self.count += 1
            return of(module, grouped_only)

        monkeypatch.setattr(GroupGraph, "of", counted)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_pipeline_gives_what_single_passes_give(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    together, apart = imported(name), imported(name)
    reads = Reads(monkeypatch)
    remarks = PassManager(FUSING).run(together)
    assert reads.count == 1
    alone = Remarks()
    for p in FUSING:
        PassManager([p]).run(apart, alone)
    assert reads.count == 1 + len(FUSING)
    assert str(together) == str(apart)
    assert remarks.to_list() == alone.to_list()


def test_what_was_left_reaches_the_next_pass_only() -> None:
    module = imported("chain", 4)
    graph = GroupGraph.of(module)
    leave(module, graph)
    assert left_before(module, GroupGraph) is None  # no pipeline runs
    with leaving() as next_pass:
        leave(module, graph)
        assert left_before(module, GroupGraph) is None
        next_pass()
        assert left_before(module, GroupGraph) is graph
        assert left_before(imported("chain", 4), GroupGraph) is None
        next_pass()
        assert left_before(module, GroupGraph) is None
    assert left_before(module, GroupGraph) is None


def test_recomputing_behind_a_fusing_pass_sees_the_copies_that_it_makes() -> None:
    text = (Path(__file__).parents[2] / "lit/passes/recompute-producers.mlir").read_text(encoding="utf-8")
    passes = (FuseVertical(max_ops=0), RecomputeProducers(hardware="h200"))
    copied = 0
    for part in re.split(r"^// -----$", text, flags=re.MULTILINE)[:4]:
        together, apart = parse(part), parse(part)
        remarks = PassManager(passes).run(together)
        for p in passes:
            PassManager([p]).run(apart)
        assert str(together) == str(apart)
        copied += sum(remark.rule == "recomputed" for remark in remarks.items)
    assert copied


class Idle(Pass):
    name = "idle"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        pass


def test_a_pass_between_makes_the_next_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported("chain", 20)
    reads = Reads(monkeypatch)
    PassManager([FUSING[0], Idle(), FUSING[2]]).run(module)
    assert reads.count == 2


@pytest.mark.parametrize("name", GRAPHS)
def test_a_program_is_left_as_it_would_be_read(name: str) -> None:
    left = []

    class Compare:
        def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
            program = left_before(module, Program)
            if program is not None:
                left.append(p.name)
                with leaving():  # nothing is left in here
                    again = Program.of(module)
                assert program.functions == again.functions
                assert program.callers == again.callers

        def after_pass(self, number: int, p: Pass, module: ir.Module) -> None:
            pass

    PassManager(default_pipeline("scheduled"), observers=[Compare()]).run(imported(name))
    assert {"fold-views", "fuse-horizontal", "materialize-fusion", "eliminate-dead"} <= set(left)
