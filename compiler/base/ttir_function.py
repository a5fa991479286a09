"""A kernel that is given as TTIR text, with what a launch asks of a function under ``@triton.jit``."""

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from .dataclass import dataclass

_NAME = re.compile(r'tt\.func\s+(?:public\s+)?@"?([\w.$-]+)|sym_name\s*=\s*"([^"]+)"')


@dataclass(frozen=True)
class TtirParameter:
    """One argument of the function, under the name that the caller gives it."""

    name: str
    is_constexpr: bool = False
    has_default: bool = False
    default: Any = None
    annotation: str = ""
    do_not_specialize: bool = False
    do_not_specialize_on_alignment: bool = False


@dataclass(frozen=True)
class TtirFunction:
    """text: a module with one public ``tt.func``, in any form that Triton parses.  params: its arguments, in
    order.  line: file and line of what gave the text.
    """

    text: str
    params: tuple[TtirParameter, ...]
    line: tuple[str, int]
    debug: bool = False

    @staticmethod
    def of(text: str, names: Sequence[str], line: tuple[str, int]) -> "TtirFunction":
        """names: of the arguments."""
        return TtirFunction(text, tuple(TtirParameter(name) for name in names), line)

    @property
    def __name__(self) -> str:
        found = _NAME.search(self.text)
        return "ttir" if found is None else str(found[1] or found[2])

    @property
    def cache_key(self) -> str:
        """What is equal for equal texts, in every process."""
        return hashlib.sha256(self.text.encode()).hexdigest()


__all__ = ["TtirFunction", "TtirParameter"]
