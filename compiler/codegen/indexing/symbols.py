"""What the symbols of an index expression on a tile stand for.

The index algebra knows a symbol by its name.  The names given here begin with ``$``, which no dim and no size
does; ``TileAxes.symbols`` finds the meaning of a name.
"""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from ...index import Expr, sym


@dataclass(frozen=True)
class _OfAxis:
    """A symbol that each axis of a tile has."""

    axis: int
    letter: ClassVar[str]

    @property
    def symbol(self) -> str:
        """Its name in expressions."""
        return f"${self.letter}{self.axis}"

    @property
    def expr(self) -> Expr:
        """The expression that is this symbol."""
        return sym(self.symbol)


class Point(_OfAxis):
    """The point of an axis, before it is written as a block number and a lane.  No value is made of it."""

    letter = "a"


class BlockNumber(_OfAxis):
    """The number of an axis' block: a scalar.  It is a program id, a loop's counter, or 0."""

    letter = "b"


class Lane(_OfAxis):
    """The lane in an axis' block: a vector 0..B-1.  Expressions have none where B is 1."""

    letter = "r"


class _OfRow(Enum):
    """A scalar that says where a row lies in memory, in elements."""

    @property
    def symbol(self) -> str:
        """Its name in expressions."""
        return str(self.value)

    @property
    def expr(self) -> Expr:
        """The expression that is this symbol."""
        return sym(self.symbol)


class OfRowStart(_OfRow):
    """Of a row that is read from the multiple of 16 bytes in front of it (``RowStart``)."""

    ALIGNED = "$s"  #: that multiple
    PHASE = "$p"  #: how far behind it the row starts


class OfRowParts(_OfRow):
    """Of a row that is two tiles, its whole vectors and the elements at its ends (``RowParts``)."""

    AHEAD = "$h"  #: how many elements stand in front of the first whole vector
    FIRST = "$f"  #: where in the storage that vector is


TileSymbol = Point | BlockNumber | Lane | OfRowStart | OfRowParts
