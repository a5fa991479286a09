"""The verifier answers with sentences: no attribute, however wrong, makes it raise anything else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fuse_mlir.compiler.context import make_context
from fuse_mlir.compiler.diagnostics import collecting
from fuse_mlir.compiler.dialects.verifier import VerificationError, verify
from fuse_mlir.compiler.mlir import ir

DIALECT = Path(__file__).parents[1] / "lit" / "dialect"
#: Attributes that fit hardly anywhere.
ODD = (
    "unit", "1 : i64", "-7 : i64", "1.5 : f64", '""',
    '"d0 +"', '"s9"', "[]", '["d0", 1 : i64]', '["i7", "v9"]', "{}",
    '{d0 = 1 : i64}', '{x = "s9"}', '{"9" = 9 : i64}',
    "{axes = [{}]}", "array<i64: 9>", "array<i64>", "@nothing",
    "[#fuse.arg<-1 : i64>]", '#fuse.torch<"x">', "f32", "true", "[{}, {fuse.sym = 1 : i64}]",
)  # fmt: skip
#: MLIR's own; the parser and its verifier are the ones to judge them.
KEPT = {"sym_name", "function_type", "sym_visibility", "value", "predicate", "callee", "operandSegmentSizes"}


def operations(module: ir.Module) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def complaint(module: ir.Module) -> str | None:
    """What the verifier says, or None; any exception but its own and MLIR's is a bug."""
    with collecting(module.context) as said:
        try:
            verify(module)
        except (VerificationError, ir.MLIRError):
            assert said.items, "an error without a diagnostic"
            assert all(d.message and "\n" not in d.message for d in said.items), said.items
            return said.items[0].message
    return None


def cases(module: ir.Module) -> Iterator[tuple[ir.Operation, str]]:
    for op in operations(module):
        for name in sorted(n.name if hasattr(n, "name") else n for n in op.attributes):
            if name not in KEPT and op.name.partition(".")[0] in ("builtin", "func", "fuse", "tt"):
                yield op, name


@pytest.mark.parametrize("file", ["fuse-ops.mlir", "tt-ops.mlir"])
def test_wrong_attributes(file: str) -> None:
    module = ir.Module.parse((DIALECT / file).read_text(encoding="utf-8"), make_context())
    assert complaint(module) is None
    refused = 0
    with module.context, ir.Location.unknown(module.context):
        odd = [ir.Attribute.parse(text) for text in ODD]
        for op, name in list(cases(module)):
            old = op.attributes[name]
            for attribute in odd:
                op.attributes[name] = attribute
                refused += complaint(module) is not None
            del op.attributes[name]
            complaint(module)
            op.attributes[name] = old
    assert complaint(module) is None, "the module was put together again"
    assert refused > 100


def test_wrong_attributes_of_functions() -> None:
    """Attributes that a function does not have, on every function."""
    names = (
        "fuse.kernel", "fuse.extern", "fuse.launch",
        "fuse.control_deps", "fuse.grid", "fuse.tile", "fuse.ties",
        "fuse.dims", "fuse.args", "fuse.kwargs", "fuse.held", "fuse.aliases", "fuse.mutated", "fuse.params",
        "fuse.effect",
    )  # fmt: skip
    module = ir.Module.parse((DIALECT / "fuse-ops.mlir").read_text(encoding="utf-8"), make_context())
    with module.context, ir.Location.unknown(module.context):
        for op in operations(module):
            if op.name != "func.func":
                continue
            for name in names:
                old = op.attributes.get(name)
                for text in ODD:
                    op.attributes[name] = ir.Attribute.parse(text)
                    complaint(module)
                if old is None:
                    del op.attributes[name]
                else:
                    op.attributes[name] = old
    assert complaint(module) is None


def test_wrong_mutations() -> None:
    module = ir.Module.parse((DIALECT / "fuse-ops.mlir").read_text(encoding="utf-8"), make_context())
    with module.context, ir.Location.unknown(module.context):
        returns = [op for op in operations(module) if op.name == "func.return"]
        for op in returns:
            for text in ODD:
                op.attributes["fuse.mutates"] = ir.Attribute.parse(text)
                complaint(module)
            del op.attributes["fuse.mutates"]
    assert complaint(module) is None
