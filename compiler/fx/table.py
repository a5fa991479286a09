"""The table of lowerings: ATen overload -> the function that builds it.

    @lowers("aten.relu.default")
    def relu(call: Call) -> Value: ...

An overload has exactly one entry; a second one is an error at import.  ``KEPT_WHOLE`` names the overloads
that run as extern calls because that is how they run best, with the reason; anything else that runs as an
extern call is a fallback and leaves a remark.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from ..base.dataclass import dataclass

#: From a ``Call`` (``frontend/importer/call.py``) to its value.
Builder: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True)
class Lowering:
    """One entry.  ``view``: the result shares its operand's storage, so devices, dtypes and empty tensors
    are no concern.  ``sizes``: it can have a result whose size is known only when it has run.
    """

    overload: str
    build: Builder
    family: str
    view: bool = False
    sizes: bool = False


LOWERINGS: dict[str, Lowering] = {}
#: The builders of ops that are known by something else than their names: "template" (``templates.py``).
BY_KIND: dict[str, Lowering] = {}
KEPT_WHOLE: dict[str, str] = {}


def lowers(*overloads: str, view: bool = False, sizes: bool = False) -> Callable[[Builder], Builder]:
    """Enters a builder into the table."""

    def enter(build: Builder) -> Builder:
        for overload in overloads:
            assert overload not in LOWERINGS, f"{overload} is lowered twice"
            assert overload not in KEPT_WHOLE, f"{overload} is lowered and kept whole"
            LOWERINGS[overload] = Lowering(overload, build, build.__module__.rpartition(".")[2], view, sizes)
        return build

    return enter


def lowers_kind(kind: str) -> Callable[[Builder], Builder]:
    """Enters the builder of a kind of ops into ``BY_KIND``."""

    def enter(build: Builder) -> Builder:
        assert kind not in BY_KIND, f"{kind} is lowered twice"
        BY_KIND[kind] = Lowering(kind, build, build.__module__.rpartition(".")[2])
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


def draws(target: Any) -> bool:
    """Whether an FX target is an op that draws random numbers."""
    return isinstance(target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def target_name(target: Any) -> str:
    """How the table and ``fuse.extern`` call an FX target: ``aten.mm.default``, ``operator.add``,
    ``higher_order.cond``.
    """
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target.name()}"
    module = {"_operator": "operator"}.get(target.__module__, target.__module__)
    return f"{module}.{target.__name__}"
