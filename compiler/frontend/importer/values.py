"""What an FX node's value is while the graph is being imported."""

from typing import Any

import torch

from ...base.dataclass import dataclass
from ...index import Expr
from ...ir.layout import TensorSpec
from ...mlir import ir


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor in ``@main``.

    ``origin`` is torch's storage offset of its root's first element: what ``spec.offset`` (relative to the
    root) leaves out. ``root`` is the ``@main`` argument that it is a view of, or None.  ``fake`` is the FX
    value.
    """

    value: ir.Value
    spec: TensorSpec
    dtype: torch.dtype
    fake: torch.Tensor
    origin: Expr
    root: int | None = None

    @property
    def sizes(self) -> tuple[Expr, ...]:
        return self.spec.sizes

    @property
    def rank(self) -> int:
        return len(self.spec.sizes)


@dataclass(frozen=True, eq=False)
class Number:
    """A number known when the program runs: an ``f64``, ``i64`` or ``i1`` value of ``@main``.  Sizes are
    ``Expr`` instead.
    """

    value: ir.Value
    dtype: torch.dtype


@dataclass(frozen=True)
class PassedOn:
    """An argument that a graph may only return: an object, or the size of a jagged dim, which is no number.

    ``position``: of the placeholder.  ``kind``: of its value, for messages.
    """

    position: int
    kind: str


@dataclass(frozen=True)
class HostObject:
    """Something an extern op takes that MLIR cannot hold, by its name in ``ImportedGraph.objects``."""

    name: str
    object: Any
