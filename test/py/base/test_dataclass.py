"""`dataclass` of `compiler/base` against `dataclasses.dataclass`."""

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import asdict, field, fields, replace
from functools import cached_property
from typing import Any

import pytest

from fuse_mlir.compiler.base.dataclass import dataclass

Maker = Callable[..., Any]
BOTH = pytest.mark.parametrize("make", [dataclass, dataclasses.dataclass], ids=["ours", "standard"])


def classes(make: Maker, **how: Any) -> tuple[type, ...]:
    """Classes with no field, one, several kinds of them, and with methods of their own."""

    @make(**how)
    class Empty:
        pass

    @make(**how)
    class One:
        a: float

    @make(**how)
    class Several:
        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list, hash=False)
        d: int = field(default=0, compare=False, repr=False)
        e: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "e", self.a + 1)

    @make(**how)
    class Own:
        a: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    @make(**how)
    class Alike:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

    return Empty, One, Several, Own, Alike


@BOTH
@pytest.mark.parametrize("frozen", [False, True])
def test_instances_compare_and_print(make: Maker, frozen: bool) -> None:
    empty, one, several, own, alike = classes(make, frozen=frozen)
    assert empty() == empty()
    assert repr(empty()) == f"{empty.__qualname__}()"
    nan = float("nan")
    if make is not dataclasses.dataclass or sys.version_info < (3, 13):  # it compares field by field since
        assert one(nan) == one(nan)  # the same object
    assert one(1) != one(2)
    assert one(1) != empty()
    assert one(1).__eq__(several(1)) is NotImplemented
    assert several(1) == several(1, d=7)
    assert several(1) != several(1, c=[2])
    assert repr(several(1, c=[2], d=7)) == f"{several.__qualname__}(a=1, b='b', c=[2], e=2)"
    assert several(1).c is not several(1).c
    assert (repr(own(1)), own(1) == own(2), hash(own(1))) == ("own", True, 5)
    assert alike(1) == alike(2)


@BOTH
def test_only_frozen_instances_hash(make: Maker) -> None:
    for cls in classes(make, frozen=True):
        one = cls() if not fields(cls) else cls(1)
        assert hash(one) == hash(replace(one))
    assert hash(classes(make, frozen=True)[2](1, c=[2])) == hash(classes(make, frozen=True)[2](1, c=[3]))
    empty, one, several, own, alike = classes(make)
    assert hash(own(1)) == 5
    for instance in (empty(), one(1), several(1), alike(1)):
        with pytest.raises(TypeError, match="unhashable"):
            hash(instance)


@BOTH
def test_without_eq_instances_are_told_apart(make: Maker) -> None:
    _, one, *_ = classes(make, eq=False)
    assert one(1) != one(1)
    assert len({one(1), one(1)}) == 2


@BOTH
def test_the_tools_of_dataclasses_take_it(make: Maker) -> None:
    _, _, several, *_ = classes(make, frozen=True)
    assert [f.name for f in fields(several)] == ["a", "b", "c", "d", "e"]
    assert asdict(several(1)) == {"a": 1, "b": "b", "c": [], "d": 0, "e": 2}
    assert replace(several(1), a=4).e == 5


@BOTH
def test_bases(make: Maker) -> None:
    @make(frozen=True)
    class Base:
        a: int

        def __repr__(self) -> str:
            return "base"

    @make(frozen=True)
    class Derived(Base):
        b: int = 2

        @cached_property
        def sum(self) -> int:
            return self.a + self.b

    assert Derived(1) == Derived(1, 2) != Derived(2)
    assert Derived(1) != Base(1)
    assert hash(Derived(1)) == hash(Derived(1))
    assert repr(Derived(1)).endswith("Derived(a=1, b=2)")
    assert Derived(1).sum == 3


@BOTH
def test_an_instance_in_itself_prints(make: Maker) -> None:
    @make
    class Node:
        next: Any = None

    node = Node()
    node.next = node
    assert repr(node).endswith("Node(next=...)")


def test_a_frozen_base_of_the_standard_library_stays_frozen() -> None:
    @dataclasses.dataclass(frozen=True)
    class Base:
        a: int

    @dataclass(frozen=True)
    class Derived(Base):
        b: int

    instance = Derived(1, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        instance.b = 3  # type: ignore[misc]
