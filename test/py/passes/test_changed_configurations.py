"""A pass that changes one configuration of a user's kernel leaves the others: what it changed runs alone."""

import pytest
from repository import ROOT

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.base.program import Program

TEXT = (ROOT / "test/lit/pipeline/user-kernel-configurations.mlir").read_text(encoding="utf-8")


@pytest.mark.parametrize("change", ["copy", "own one of two", "own the only one"])
def test_a_changed_kernel_has_no_other_configurations(change):
    with make_context(), ir.Location.unknown():
        program = Program.of(ir.Module.parse(TEXT))
        kernel, call = program.functions["fill"], program.calls()[0]
        if change == "own one of two":
            program.redirect(program.calls()[1], "fill")
        changed = program.copy(kernel) if change == "copy" else program.own(call, kernel)
        assert (changed == kernel) == (change == "own the only one")
        assert ("fuse.configs" in kernel.attributes) == (changed != kernel)
        assert "fuse.configs" not in changed.attributes and "fuse.tuned_by" not in changed.attributes
