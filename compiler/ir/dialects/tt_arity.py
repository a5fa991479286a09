"""Ops of several values in the mirror of Triton's dialect.

All elements of a variadic of an op defined in Python have one type, so there is an op for each number of
values.  ``tt_text.py`` has their names in Triton.
"""

import types
from collections.abc import Iterable
from typing import Any

from .tt_types import TT

_WORDS = ("no", "one", "two", "three", "four", "five")

#: How many values the ops beside one of a single value take.
SEVERAL = range(2, 6)


def add_arities(one: Any, description: str, *repeated: str, arities: Iterable[int] = SEVERAL) -> None:
    """Defines ``tt.NAME_2`` and so on beside the op class ``one``, which is ``tt.NAME``.

    repeated: the fields of ``one`` that are there once for each value, with a number behind the name.
    description: the docstring; ``{}`` is the number of values as a word.
    """
    for count in arities:
        fields = {
            name + number: kind
            for name, kind in one.__annotations__.items()
            for number in (map(str, range(count)) if name in repeated else ("",))
        }
        body = {"__annotations__": fields, "__module__": one.__module__}
        body["__doc__"] = description.format(_WORDS[count])
        if "verify_invariants" in vars(one):
            body["verify_invariants"] = one.verify_invariants
        given = {"name": f"{one.OPERATION_NAME.removeprefix('tt.')}_{count}", "traits": one._traits}
        types.new_class(
            f"{one.__name__}{count}", (TT.Operation,), given, lambda names, b=body: names.update(b)
        )
