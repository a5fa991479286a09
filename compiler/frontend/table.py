"""The table of lowerings: ATen overload -> the function that builds it.

    @lowers("aten.relu.default")
    def relu(call: Call) -> Value: ...

An overload has exactly one entry; a second one is an error at import.  ``KEPT_WHOLE`` names the overloads
that run as extern calls because that is how they run best, with the reason; anything else that runs as an
extern call is a fallback and leaves a remark.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .call import Call


@dataclass(frozen=True)
class Lowering:
    """One entry.  ``view``: the result shares its operand's storage, so devices, dtypes and empty tensors
    are no concern.  ``sizes``: it can have a result whose size is known only when it has run.
    """

    overload: str
    build: "Callable[[Call], Any]"
    family: str
    view: bool = False
    sizes: bool = False


LOWERINGS: dict[str, Lowering] = {}
KEPT_WHOLE: dict[str, str] = {}


def lowers(
    *overloads: str, view: bool = False, sizes: bool = False
) -> "Callable[[Callable[[Call], Any]], Callable[[Call], Any]]":
    """Enters a builder into the table."""

    def enter(build: "Callable[[Call], Any]") -> "Callable[[Call], Any]":
        for overload in overloads:
            assert overload not in LOWERINGS, f"{overload} is lowered twice"
            assert overload not in KEPT_WHOLE, f"{overload} is lowered and kept whole"
            LOWERINGS[overload] = Lowering(overload, build, build.__module__.rpartition(".")[2], view, sizes)
        return build

    return enter


def keep_whole(reason: str, *overloads: str) -> None:
    """Names overloads that stay extern calls on purpose."""
    for overload in overloads:
        assert overload not in KEPT_WHOLE, f"{overload} is kept whole twice"
        assert overload not in LOWERINGS, f"{overload} is lowered and kept whole"
        KEPT_WHOLE[overload] = reason


class Refused(Exception):
    """A builder's way to say that this call is beyond it; the importer makes it an extern call, with the
    reason in a remark.
    """
