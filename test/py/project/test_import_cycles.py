"""`import_cycles` finds circles of made-up modules; that this package has none, `test_layers.py` asks it."""

import pytest
from import_cycles import circles, cycles
from package_imports import PACKAGE, package_of

TYPING = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "
#: Made-up modules of `passes`, and how the circle between them is reported.
CIRCLES = {
    "at module scope": (
        {"a": "from .b import x", "b": "from . import a"},
        "a:1 imports b, b:1 imports a",
    ),
    "for typing": (
        {"a": "from .b import x", "b": TYPING + "from .a import A"},
        "a:1 imports b, b:3 imports a for typing",
    ),
    "for typing, both ways": (
        {
            "a": "import typing\nif typing.TYPE_CHECKING:\n    from .b import B",
            "b": TYPING + "from . import a",
        },
        "a:3 imports b for typing, b:3 imports a for typing",
    ),
    "in a function": (
        {"a": "from . import b", "b": "def f():\n    from .a import x"},
        "a:1 imports b, b:2 imports a in a function",
    ),
    "in a method, of three": (
        {
            "a": "from . import b",
            "b": TYPING + "from .c import C",
            "c": "class C:\n    def f(self):\n        from . import a",
        },
        "a:1 imports b, b:3 imports c for typing, c:3 imports a in a function",
    ),
    "two rounds through one module": (
        {"a": "from . import b, c", "b": "from . import a", "c": "def f():\n    from . import a"},
        "a:1 imports b, a:1 imports c, b:1 imports a, c:2 imports a in a function",
    ),
    "several names of one module": (
        {"a": "from .b import x, y", "b": "from .a import z"},
        "a:1 imports b, b:1 imports a",
    ),
}


@pytest.mark.parametrize(("modules", "circle"), CIRCLES.values(), ids=CIRCLES)
def test_a_circle_is_reported_once(modules: dict[str, str], circle: str) -> None:
    package = package_of({f"passes.{name}": source for name, source in modules.items()})
    assert [text.replace(f"{PACKAGE}.passes.", "") for text in cycles(package)] == [circle]


def test_imports_one_way_are_no_circle() -> None:
    modules = {
        "a": "from . import b, c",
        "b": TYPING + "from . import c",
        "c": "def f():\n    from . import d",
        "d": "",
    }
    assert cycles(package_of({f"passes.{name}": source for name, source in modules.items()})) == []


def test_circles_apart_are_reported_apart() -> None:
    modules = {
        "a": "from . import b",
        "b": "from . import a, c",
        "c": "from . import d",
        "d": "from . import c",
    }
    found = circles(package_of({f"passes.{name}": source for name, source in modules.items()}))
    assert found == [tuple(f"{PACKAGE}.passes.{name}" for name in pair) for pair in ("ab", "cd")]
