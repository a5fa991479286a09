"""No comprehension hides a name of an outer function from the rest of its own.

CPython 3.12 and 3.13 inline comprehensions. Where one binds a name, and another one, a lambda or a function
beside it reads that name of an outer scope, the reader finds the variable of the first, which is unbound by
then: UnboundLocalError or NameError (seen with 3.12.1 and 3.13.0; the function's own use of the name avoids
it)::

    def outer(name):
        def step(d):
            x = {name: 1 for name in d}
            return [name for _ in d]  # raises
"""

import symtable
import sys
from collections.abc import Iterator

import pytest
from package_imports import read_package
from repository import ROOT

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="its tables hold the merged scopes")


def hidden_names(text: str) -> list[str]:
    """ "function:name" of each name that a comprehension hides from another scope beside it."""
    return sorted(set(_hidden(symtable.symtable(text, "text", "exec"))))


def _hidden(scope: symtable.SymbolTable) -> Iterator[str]:
    own = {s.get_name() for s in scope.get_symbols() if s.is_local() or s.is_referenced()}
    for child in scope.get_children():
        yield from _hidden(child)
        if child.get_name() not in ("listcomp", "setcomp", "dictcomp"):
            continue
        bound = {s.get_name() for s in child.get_symbols() if s.is_local() and not s.is_parameter()}
        for other in scope.get_children():
            if other is not child:
                read = {s.get_name() for s in other.get_symbols() if s.is_free() or s.is_global()}
                yield from (f"{scope.get_name()}:{name}" for name in bound & read - own)


def test_no_name_is_hidden() -> None:
    found = {module: hidden_names(text) for module, text in read_package(ROOT).items()}
    assert {module: names for module, names in found.items() if names} == {}


OUTER = "def outer(name):\n  def step(d):\n    x = {name: 1 for name in d}\n"


@pytest.mark.parametrize(
    "text, names",
    [
        (OUTER + "    return [name for _ in d]", ["step:name"]),
        (OUTER + "    return (lambda: name)()", ["step:name"]),
        (OUTER + "    return list(name for _ in d)", ["step:name"]),
        (OUTER + "    def inner(): return name\n    return inner()", ["step:name"]),
        ("def f(d):\n  x = {n: 1 for n in d}\n  return [n for _ in d]", ["f:n"]),  # a global
        (OUTER + "    y = [name for _ in d]\n    return name", []),
        (OUTER + "    return [other for other in d]", []),
        (OUTER + "    return [name for name in d]", []),
    ],
)
def test_a_hidden_name_is_found(text: str, names: list[str]) -> None:
    assert hidden_names(text) == names
