"""The stages of rewrites: what is in them, what switches a rewrite on, and that each has its tests."""

import ast
import sys
from importlib import import_module

import pytest
import torch
from repository import ROOT
from torch import fx

from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.rewrites.rewriting import Rewrite
from fuse_mlir.compiler.rewrites.stages import STAGES, Stage, Step, Switch, switched_on
from fuse_mlir.tools._rewrite_tests import TESTS

REWRITES = {step.rewrite.name: step.rewrite for stage in STAGES for step in stage.steps}
FOLDERS = ("captured", "attention", "joint", "chunks", "complex", "graph", "layouts")


def module_of(rewrite: Rewrite):
    return sys.modules[rewrite.apply.__module__]


def test_every_rewrite_is_in_a_stage_under_the_name_of_its_file():
    found = {}
    for folder in FOLDERS:
        for file in (ROOT / "compiler" / "rewrites" / folder).glob("*.py"):
            name = f"fuse_mlir.compiler.rewrites.{folder}.{file.stem}".removesuffix(".__init__")
            own = [r for r in vars(import_module(name)).values() if isinstance(r, Rewrite)]
            for rewrite in own:
                if rewrite.apply.__module__ == name:
                    assert rewrite.name not in found, f"two rewrites are called {rewrite.name}"
                    found[rewrite.name] = rewrite
                    assert rewrite.name == file.stem.replace("_", "-")
    assert found == REWRITES


@pytest.mark.parametrize("name", REWRITES)
def test_every_rewrite_is_described(name):
    """The docstring says what is matched and written, when it does not fire, why it is no MLIR pass."""
    text = " ".join(module_of(REWRITES[name]).__doc__.split())
    for part in ("Before", "After", "It does not fire", "Why not an MLIR pass: "):
        assert part in text, f"{name}: no word of '{part}'"
    remark = REWRITES[name].remark
    assert remark[0].islower() and not remark.endswith(".")


def test_every_rewrite_has_a_test_where_it_fires_and_one_where_it_must_not():
    assert TESTS.keys() == REWRITES.keys()
    for name, tests in TESTS.items():
        tree = ast.parse((ROOT / "test" / "py" / tests.file).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert {tests.fires, tests.stays} <= functions, name
        assert tests.fires != tests.stays, name


@pytest.mark.products("auto")  # what holds where nothing is said
@pytest.mark.parametrize(
    ("switch", "options", "kind", "on_gpu", "on"),
    [
        (Switch.ATTENTION, {}, "forward", False, True),
        (Switch.ATTENTION, {"attention": False}, "forward", False, False),
        (Switch.INFERENCE, {}, "inference", False, True),
        (Switch.INFERENCE, {}, "forward", False, False),
        (Switch.EPILOGUES, {}, "forward", True, True),
        (Switch.EPILOGUES, {}, "forward", False, False),
        (Switch.EPILOGUES, {"epilogues": "generated"}, "forward", True, False),
        (Switch.EPILOGUES, {"products": "generated"}, "forward", True, False),
        (Switch.EPILOGUES, {"products": "generated", "epilogues": "library"}, "forward", True, True),
        (Switch.LAYOUTS, {}, "inference", True, True),
        (Switch.LAYOUTS, {}, "inference", False, False),
        (Switch.LAYOUTS, {"layouts": "free"}, "inference", False, True),
        (Switch.LAYOUTS, {"layouts": "eager"}, "inference", True, False),
        (Switch.FLEX, {}, "inference", True, True),
        (Switch.FLEX, {}, "inference", False, False),
        (Switch.FLEX, {"deterministic": True}, "inference", True, False),
        (Switch.FLEX, {"flex_attention": "inductor"}, "inference", False, True),
        (Switch.FLEX, {"flex_attention": "eager"}, "inference", True, False),
    ],
)
def test_what_switches_rewrites_on(switch, options, kind, on_gpu, on):
    found = switched_on(Options(**options), kind=kind, on_gpu=on_gpu)
    assert Switch.ALWAYS in found and (switch in found) == on


def test_a_stage_runs_what_is_switched_on_in_order():
    gm = fx.GraphModule(torch.nn.Module(), fx.Graph())
    ran = []

    def step(name, switch, count):
        return Step(
            Rewrite(name, f"{name} ran", lambda given: ran.append((name, given)) or count), switch, ""
        )

    first, second, third = (
        step("first", Switch.ALWAYS, 2),
        step("second", Switch.LAYOUTS, 1),
        step("third", Switch.ALWAYS, 0),
    )
    remarks = Remarks()
    Stage("made up", "", (first, second, third)).run(gm, (Switch.ALWAYS,), remarks)
    assert ran == [("first", gm), ("third", gm)]
    [remark] = remarks.items
    assert (remark.pass_name, remark.message, remark.numbers) == ("first", "first ran", (("count", 2),))
    Stage("made up", "", (second,)).run(gm, (Switch.LAYOUTS,), remarks, "another subject")
    assert ran[2:] == [("second", "another subject")]
