"""Structured remarks: why something was or was not done, with the numbers and the user's lines."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Remark:
    """One decision.  ``kind``: "missed" (refused), "passed" (done), "analysis"."""

    pass_name: str
    kind: str
    rule: str  #: short kebab-case name of the rule that decided, e.g. "index-mismatch"
    message: str  #: one sentence
    ops: tuple[str, ...] = ()  #: the kernels or nodes concerned
    locations: tuple[str, ...] = ()  #: the user's lines, as printed by MLIR
    numbers: tuple[tuple[str, Any], ...] = ()  #: what the rule compared


@dataclass
class Remarks:
    """Collects remarks in program order."""

    items: list[Remark] = field(default_factory=list)

    def add(self, pass_name: str, kind: str, rule: str, message: str, *, ops: tuple[str, ...] = (), locations: tuple[str, ...] = (), **numbers: Any) -> None:
        """Appends one remark; ``numbers`` are what the rule compared."""
        self.items.append(Remark(pass_name, kind, rule, message, ops, locations, tuple(numbers.items())))
