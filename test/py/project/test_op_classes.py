"""An op is asked for by its class, where it has one: ``compiler/ir/defining.py`` says which ops have none."""

import ast
import re
from collections.abc import Iterator

import pytest
from repository import ROOT

#: What gives a plain ``ir.Operation``, which is an instance of no op's class.
PLAIN = ("operation", "parent")
#: Where ops come as their class.  Calls of ``@main`` and ops of users' kernels are plain in the rest of
#: ``compiler/analysis``.
TYPED = (
    "compiler/analysis/contraction",
    "compiler/analysis/kernel",
    "compiler/analysis/tiling",
    "compiler/codegen",
    "compiler/verifier",
)
#: Names of ops with a class: a call of ``@main`` is plain where it is kept.
NAME = re.compile(r"(?!func\.call$)(arith|cf|func|fuse|math|scf|tt)\.\w+")


def mistakes(source: str) -> Iterator[int]:
    """The lines that call ``defining_op`` with a name, or ask for the class of a plain operation."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or len(node.args) < 2:
            continue
        named = any(isinstance(n, ast.Constant) for a in node.args[1:] for n in ast.walk(a))
        first = node.args[0]
        plain = isinstance(first, ast.Attribute) and first.attr in PLAIN
        if (node.func.id == "defining_op" and named) or (node.func.id == "isinstance" and plain):
            yield node.lineno


def named(source: str) -> Iterator[int]:
    """The lines that compare the name of an op with one that is spelled there."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Attribute)
            and node.left.attr == "name"
        ):
            constants = (n.value for n in ast.walk(node.comparators[0]) if isinstance(n, ast.Constant))
            if any(isinstance(value, str) and NAME.fullmatch(value) for value in constants):
                yield node.lineno


def test_typed_ops_are_not_compared_by_name() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in TYPED
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in named(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "isinstance(op, fuse.Load)"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('op.name == "fuse.load"', True),
        ('op.name not in ("arith.addf", *MORE)', True),
        ('call.name == "func.call"', False),
        ('row.name == "total"', False),
        ("op.name in REDUCTIONS", False),
    ],
)
def test_names_of_ops_are_found(source: str, found: bool) -> None:
    assert list(named(source)) == [1] * found


def test_ops_are_asked_for_by_their_classes() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for top in ("compiler", "integrations", "passes", "tools")
        for path in sorted((ROOT / top).rglob("*.py"))
        for line in mistakes(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "defining_op(value, arith.AddFOp), and isinstance of what a block or owner gives"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('defining_op(value, "arith.addf")', True),
        ('defining_op(value, "arith.andi" if all else "arith.ori")', True),
        ("defining_op(value, arith.AddFOp, fuse.Load)", False),
        ("isinstance(op.operation, fuse.Load)", True),
        ("isinstance(op.parent, scf.WhileOp)", True),
        ("isinstance(value.owner, fuse.Load)", False),
    ],
)
def test_names_and_plain_operations_are_found(source: str, found: bool) -> None:
    assert list(mistakes(source)) == [1] * found
