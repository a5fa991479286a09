"""An analysis that a pass preserves is what the next pass would compute."""

import re
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from interpreted_modules import parse

from fuse_mlir.bench.scheduling_growth import GRAPHS
from fuse_mlir.compiler.analysis.fusion import graph, rules
from fuse_mlir.compiler.analysis.fusion.graph import GroupGraph
from fuse_mlir.compiler.analysis.fusion.rules import judge_form
from fuse_mlir.compiler.analysis.kernel.info import KernelInfo
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.frontend.importer.importer import import_graph
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.analysis_manager import AnalysisManager, StaleAnalysis
from fuse_mlir.passes.base.program import Program
from fuse_mlir.passes.fusion.fuse_horizontal import FuseHorizontal
from fuse_mlir.passes.fusion.fuse_vertical import FuseVertical
from fuse_mlir.passes.fusion.materialize_fusion import MaterializeFusion
from fuse_mlir.passes.fusion.recompute_producers import RecomputeProducers
from fuse_mlir.passes.graph.fold_views import FoldViews
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pass_base import AnalysisPass, Pass
from fuse_mlir.passes.pipeline import default_pipeline
from fuse_mlir.passes.products.choose_libraries import ChooseLibraries
from fuse_mlir.passes.products.review_libraries import ReviewLibraries

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
    remarks = PassManager(FUSING, verify_each=False).run(together)
    assert reads.count == 1
    alone = Remarks()
    for p in FUSING:
        PassManager([p], verify_each=False).run(apart, alone)
    assert reads.count == 1 + len(FUSING)
    assert str(together) == str(apart)
    assert remarks.to_list() == alone.to_list()


def test_an_analysis_is_computed_once_until_it_is_forgotten() -> None:
    module = imported("chain", 4)
    analyses = AnalysisManager(module)
    assert analyses.cached(GroupGraph) is None
    graph, program = analyses.get(GroupGraph), analyses.get(Program)
    assert analyses.get(GroupGraph) is graph
    analyses.keep_only((Program,))
    assert analyses.cached(Program) is program
    assert analyses.cached(GroupGraph) is None


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


def test_a_pass_that_preserves_nothing_makes_the_next_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported("chain", 20)
    reads = Reads(monkeypatch)
    PassManager([FUSING[0], Idle(), FUSING[2]], verify_each=False).run(module)
    assert reads.count == 2


def test_what_fuses_behind_a_call_of_the_library_is_not_read_and_judged_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = Path(__file__).parents[2] / "lit" / "passes" / "review-libraries.mlir"
    module = parse(path.read_text().split("// -----")[0])
    read, forms = [], []
    monkeypatch.setattr(graph, "KernelInfo", Mock(of=lambda func: read.append(func) or KernelInfo.of(func)))
    monkeypatch.setattr(rules, "judge_form", lambda form: forms.append(form) or judge_form(form))
    passes = [
        ChooseLibraries(hardware="h200"), FoldViews(), FuseVertical(), FuseHorizontal(),
        ReviewLibraries(back="all"),
    ]  # fmt: skip
    remarks = PassManager(passes, verify_each=False).run(module)
    fused = [r.pass_name for r in remarks.items if r.rule == "fused"]
    assert fused == ["fuse-vertical", "fuse-vertical"] and "@mm_kernel" not in str(module)
    assert len(read) == 4  # each kernel once
    assert forms and len({form.sizes for form in forms}) == 1


def test_one_program_serves_the_passes_up_to_the_first_that_does_not_preserve_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = []
    of = Program.of
    monkeypatch.setattr(Program, "of", lambda module: read.append(module) or of(module))
    manager = PassManager(default_pipeline("scheduled"), verify_each=False)
    manager.run(imported("chain", 20))
    assert len(read) == 3  # for lower-control-deps and those behind it; for fold-ranges; for reorder-for-peak


@dataclass(frozen=True)
class Marking(AnalysisPass):
    """Changes an attribute of the module, which is in no analysis."""

    name = "marking"
    preserves = (Program, GroupGraph)
    mark: str = "test.mark"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        analyses.get(GroupGraph)
        module.operation.attributes[self.mark] = ir.UnitAttr.get()


@pytest.mark.parametrize("verify_each", [False, True])
def test_analyses_are_kept_for_a_module_whose_attributes_change(
    verify_each: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = imported("chain", 6)
    reads = Reads(monkeypatch)
    PassManager([Marking(), Marking(), Marking("test.other")], verify_each).run(module)
    assert reads.count == (3 if verify_each else 1)  # computed again after each pass that changes the module


@dataclass(frozen=True)
class Replacing(AnalysisPass):
    """Puts a copy of a kernel in its place and computes the program again."""

    name = "replacing"
    preserves = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        kernel = program.callee(program.calls()[0])
        kernel.clone(ir.InsertionPoint(kernel))
        kernel.erase()
        analyses.put(Program.of(module))


def test_an_equal_operation_in_the_place_of_another_is_no_change() -> None:
    """The module is the same, and so is what was computed for it, but for which operations it names."""
    PassManager([Marking(), Replacing()]).run(imported("chain", 6))


@dataclass(frozen=True)
class Careless(AnalysisPass):
    """Changes what an analysis says, in the module or in the analysis alone, and claims to preserve it."""

    name = "careless"
    preserves = (Program, GroupGraph)
    changes: str = "functions"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program, graph = analyses.get(Program), analyses.get(GroupGraph)
        call = program.calls()[0]
        if self.changes == "functions":
            copy = program.callee(call).clone(ir.InsertionPoint(program.callee(call)))
            copy.attributes["sym_name"] = ir.StringAttr.get("another")
        elif self.changes == "callers":
            program.callers["main"] += 1
        elif self.changes == "references":
            program._named.add("nobody")
        elif self.changes == "groups":
            graph.merge(*sorted(graph.summaries)[:2])
        else:
            assert self.changes == "operations"
            program.block.operations[0].operation.clone(ir.InsertionPoint(program.block.operations[0]))


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ("functions", "Program"),
        ("callers", "Program"),
        ("references", "Program"),
        ("groups", "GroupGraph"),
        ("operations", "GroupGraph"),
    ],
)
def test_a_claim_that_is_wrong_is_found_where_passes_are_verified(changes: str, kind: str) -> None:
    PassManager([Careless(changes)], verify_each=False).run(imported("chain", 6))
    for before in ([], [Marking(), Marking()]):  # behind them, what was computed of the same module is known
        with pytest.raises(StaleAnalysis, match=f"preserves {kind}, whose {changes} differ"):
            PassManager([*before, Careless(changes)]).run(imported("chain", 6))
