"""Each refusal says what it costs, or its pass is among those that say why not."""

import re
import shlex
from pathlib import Path

import pytest
from repository import ROOT

from fuse_mlir.compiler.base.remarks import WITHOUT_LOSS, Remark, Remarks
from fuse_mlir.passes.registry import PASSES
from fuse_mlir.tools import fuse_opt

CASES = ROOT / "test/lit/passes"
_RUN = re.compile(r"^// RUN: (fuse-opt %s .*--remarks=text.*)$", re.MULTILINE)

#: The cases of ``test/lit/passes`` that are run here: together they refuse in every pass that does.
FILES = [
    "concat-products-in-place",
    "choose-libraries-short",
    "commute-row-scales",
    "derive-cascades",
    "bucket-collectives-schedule",
    "combine-launches",
    "fuse-horizontal-walks",
    "fuse-vertical-chains",
    "fuse-user-epilogues-kernels",
    "fuse-user-prologues",
    "user-prologue-rules/rules",
    "fusion-rules/extern",
    "fusion-rules/slower",
    "fusion-rules/memory",
    "fusion-rules/little-shared",
    "split-reductions-cascades",
    "write-in-place",
]


def refusals(file: Path, monkeypatch: pytest.MonkeyPatch) -> list[Remark]:
    """What the first command of a file that prints remarks refuses."""
    found: list[Remark] = []
    command = _RUN.search(file.read_text())
    assert command is not None, f"{file} prints no remarks"
    words = [w for w in shlex.split(re.split(r" 2>| -o %t| \|", command[1])[0]) if not w.startswith(">")]
    monkeypatch.setattr(Remarks, "render", lambda self, *_, **__: found.extend(self.items) or "")
    assert fuse_opt.main([w.replace("%s", str(file)) for w in words[1:]]) == 0
    return [remark for remark in found if remark.kind == "missed"]


@pytest.mark.parametrize("name", FILES)
def test_each_refusal_has_a_cost_or_a_reason_why_it_has_none(name: str, monkeypatch) -> None:
    found = refusals(CASES / f"{name}.mlir", monkeypatch)
    assert found
    for remark in found:
        costless = {remark.pass_name, f"{remark.pass_name}: {remark.rule}"} & WITHOUT_LOSS.keys()
        assert (remark.loss is None) == bool(costless), remark


def test_reasons_name_passes() -> None:
    names = {key.partition(":")[0] for key in WITHOUT_LOSS}
    assert names - {"import", "compile-budget"} <= PASSES.keys()
    assert all(reason and not reason.endswith(".") for reason in WITHOUT_LOSS.values())
