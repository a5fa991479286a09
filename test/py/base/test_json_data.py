"""Dataclasses as JSON: what is written is read, anything else is a sentence that says where."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import pytest

from fuse_mlir.compiler.base.json_data import from_json, to_json
from fuse_mlir.compiler.index import Expr, parse


@dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.0


@dataclass(frozen=True)
class Name:
    text: str


@dataclass(frozen=True)
class Tree:
    """Scalars beside several dataclasses, of which one holds such values."""

    size: Expr | None
    leaves: tuple["bool | float | str | Name | Tree | None", ...]


@dataclass(frozen=True)
class Whole:
    kind: Literal["a", "b"]
    points: tuple[Point, ...]
    pair: tuple[str, int]
    either: tuple[Point | Name, ...]
    perhaps: Point | None
    names: list[str]
    table: Mapping[str, tuple[int, ...]]
    anything: Any
    flag: bool


WHOLE = Whole(
    "a", (Point(1, 2.5), Point(-3)), ("p", 1), (Name("n"), Point(0)), None, ["x"], {"k": (1, 2)},
    (1, [None, "t", (True, 0.5)]), True,
)  # fmt: skip


def test_what_is_written_is_read() -> None:
    data = json.loads(json.dumps(to_json(WHOLE)))
    assert from_json(Whole, data) == WHOLE
    assert from_json(Whole, {**data, "perhaps": {"x": 1, "y": 1}}).perhaps == Point(1, 1.0)
    assert math.isnan(from_json(Point, json.loads(json.dumps(to_json(Point(0, math.nan))))).y)


@pytest.mark.parametrize(
    ("field", "wrong", "where"),
    [
        ("kind", "c", "Whole.kind: expected .*got str"),
        ("points", {}, "Whole.points: expected list.*got dict"),
        ("points", [{"x": 1}], "Whole.points: expected object of x, y.*got dict"),
        ("points", [{"x": True, "y": 1.0}], "Whole.points.x: expected int.*got bool"),
        ("points", [{"x": 1, "y": "1"}], "Whole.points.y: expected float.*got str"),
        ("points", [{"x": 1, "y": 10**400}], "Whole.points.y: expected float.*got int"),
        ("pair", ["p"], "Whole.pair: expected list of 2.*got list"),
        ("either", [{"x": 1, "y": 1}], "Whole.either: expected Point or Name.*got dict"),
        ("either", [{"Whole": {}}], "Whole.either: expected Point or Name.*got dict"),
        ("perhaps", 1, "Whole.perhaps: expected object.*got int"),
        ("names", [1], "Whole.names: expected str.*got int"),
        ("table", [], "Whole.table: expected object.*got list"),
        ("table", {"k": 1}, "Whole.table.k: expected list.*got int"),
        ("anything", {"set": []}, "Whole.anything: expected number or text.*got dict"),
        ("anything", {"list": 5}, "Whole.anything: expected number or text.*got dict"),
        ("anything", [1], "Whole.anything: expected number or text.*got list"),
        ("flag", 1, "Whole.flag: expected bool.*got int"),
    ],
)
def test_anything_else_is_a_sentence(field: str, wrong: Any, where: str) -> None:
    with pytest.raises(ValueError, match=f"^{where}"):
        from_json(Whole, {**to_json(WHOLE), field: wrong})
    with pytest.raises(ValueError, match="object of kind, points"):
        from_json(Whole, {**to_json(WHOLE), "more": 1})


def test_dataclasses_beside_scalars_hold_each_other() -> None:
    tree = Tree(parse("s0*4 + 1"), (True, 1, 1.0, "Name", None, Name("x"), Tree(None, (math.nan,))))
    data = json.loads(json.dumps(to_json(tree)))
    assert data["leaves"][:6] == [True, 1, 1.0, "Name", None, {"Name": {"text": "x"}}]
    found = from_json(Tree, data)
    assert found == tree and [*map(type, found.leaves)] == [*map(type, tree.leaves)]
    for wrong, said in (
        ({"Other": {}}, "Tree.leaves: expected bool or float or str or Name or Tree or NoneType, got dict"),
        ([], "Tree.leaves: expected bool or .*got list"),
        ({"Tree": {"size": "(", "leaves": []}}, "Tree.leaves.size: expected index expression .*got str"),
    ):
        with pytest.raises(ValueError, match=f"^{said}"):
            from_json(Tree, {**data, "leaves": [wrong]})
    for _ in range(400):
        data = {"size": None, "leaves": [{"Tree": data}]}
    with pytest.raises(ValueError, match=r"^Tree: the data nests too deep$"):
        from_json(Tree, data)
    with pytest.raises(TypeError, match="no types of a field"):
        from_json(Unclear, {"value": "s0"})


@dataclass(frozen=True)
class Unclear:
    value: Expr | str


def test_what_no_field_may_hold_is_not_written() -> None:
    with pytest.raises(ValueError, match="a Fraction cannot be stored"):
        to_json(Whole("a", (), ("p", 1), (), None, [], {}, [Fraction(1, 2)], True))
    deep: Any = 0
    for _ in range(20):
        deep = [deep]
    with pytest.raises(ValueError, match="cannot be stored"):
        to_json(Whole("a", (), ("p", 1), (), None, [], {}, deep, True))
