"""What the symbols of an index expression on a tile stand for.

The index algebra knows a symbol by its name only.  Names given here begin with ``$``, which no dim or size
does; ``TileAxes.symbols`` maps each name to what it stands for.
"""

from enum import Enum
from typing import ClassVar

from ...base.dataclass import dataclass
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
    """The point of an axis.  It is replaced by a block number and a lane before any value is emitted."""

    letter = "a"


class BlockNumber(_OfAxis):
    """The number of the current block of an axis, a scalar: a program id, a loop's counter, or 0."""

    letter = "b"


class Lane(_OfAxis):
    """The lane in a block of an axis: a vector 0..B-1.  Where B is 1, expressions contain no lane."""

    letter = "r"


class _OfRow(Enum):
    """A scalar that says where a row lies: in memory, in elements, or among rows."""

    @property
    def symbol(self) -> str:
        """Its name in expressions."""
        return str(self.value)

    @property
    def expr(self) -> Expr:
        """The expression that is this symbol."""
        return sym(self.symbol)


class OfRowStart(_OfRow):
    """For a row that is read from the last multiple of 16 bytes before it (``RowStart``)."""

    ALIGNED = "$s"  #: that multiple of 16 bytes
    PHASE = "$p"  #: how far behind it the row starts


class OfRowParts(_OfRow):
    """For a row held as two tiles, its whole vectors and the elements at its ends (``RowParts``)."""

    AHEAD = "$h"  #: how many elements of the row precede its first whole vector
    FIRST = "$f"  #: where in the storage that vector starts


class OfSegment(_OfRow):
    """For an axis of rows in segments, whose blocks have rows of one segment each (``tile_segments.py``)."""

    FIRST = "$g"  #: the first row of a program
    LEFT = "$l"  #: how many rows of the segment there are from there on, none or less in an empty block


TileSymbol = Point | BlockNumber | Lane | OfRowStart | OfRowParts | OfSegment
