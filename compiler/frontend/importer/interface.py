"""What the caller of an imported graph has to know of it, as plain data: this module loads no MLIR, so that a
cached program is read without it.
"""

from typing import Any

from ...base.dataclass import dataclass


@dataclass(frozen=True)
class OutputResult:
    """An FX output that is result number ``index`` of ``@main``."""

    index: int


@dataclass(frozen=True)
class OutputConstant:
    """An FX output that is no result: None, or a number known at import."""

    value: Any


@dataclass(frozen=True)
class OutputArgument:
    """An FX output that is placeholder number ``index``, which is nothing that ``@main`` takes."""

    index: int


#: Where an FX output comes from.
Output = OutputResult | OutputConstant | OutputArgument


@dataclass(frozen=True)
class Fallback:
    """A node that runs as an extern call although nothing says it should."""

    target: str
    reason: str
    location: str
