"""Structured remarks: why something was or was not done, with the numbers and the user's lines."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .launch import line_text

#: A line inside a location as MLIR prints it.
_LINE = re.compile(r'"([^"]+)":(\d+):\d+')


@dataclass(frozen=True)
class Remark:
    """One decision.  ``kind``: "missed" (refused), "passed" (done), "analysis"."""

    pass_name: str
    kind: str
    rule: str  #: short kebab-case name of the rule that decided, e.g. "index-mismatch"
    message: str  #: one sentence
    ops: tuple[str, ...] = ()  #: the kernels or nodes concerned
    locations: tuple[str, ...] = ()  #: the user's lines, as printed by MLIR
    numbers: tuple[tuple[str, Any], ...] = ()  #: what the rule compared: numbers and strings

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON has them."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Remark":
        """What ``to_dict`` gave, also when it has been through JSON."""
        lists = {name: tuple(data[name]) for name in ("ops", "locations")}
        return Remark(**{**data, **lists, "numbers": tuple((n, v) for n, v in data["numbers"])})


@dataclass
class Remarks:
    """Collects remarks in program order."""

    items: list[Remark] = field(default_factory=list)

    def add(
        self,
        pass_name: str,
        kind: str,
        rule: str,
        message: str,
        *,
        ops: tuple[str, ...] = (),
        locations: tuple[str, ...] = (),
        **numbers: Any,
    ) -> None:
        """Appends one remark; ``numbers`` are what the rule compared."""
        self.items.append(Remark(pass_name, kind, rule, message, ops, locations, tuple(numbers.items())))

    def to_list(self) -> list[dict[str, Any]]:
        """All remarks as JSON has them."""
        return [remark.to_dict() for remark in self.items]

    @staticmethod
    def from_list(data: Iterable[Mapping[str, Any]]) -> "Remarks":
        """What ``to_list`` gave."""
        return Remarks([Remark.from_dict(remark) for remark in data])

    def render(self, form: str) -> str:
        """All remarks as ``text`` (a line each, which names the lines of the program) or ``yaml`` (a document
        each, in the form of LLVM's optimisation remarks).
        """
        return "\n".join(_text(r) if form == "text" else _yaml(r) for r in self.items)


def _text(remark: Remark) -> str:
    numbers = "".join(f", {n}={v}" for n, v in remark.numbers)
    ops = f" [{' + '.join(remark.ops)}]" if remark.ops else ""
    lines = dict.fromkeys(line for location in remark.locations for line in _lines(location))
    where = f" at {', '.join(lines)}" if lines else ""
    return f"{remark.kind}: {remark.pass_name}: {remark.rule}{numbers}: {remark.message}{ops}{where}"


def _lines(location: str) -> list[str]:
    """``file:line`` of each place inside a location; one that is no text of MLIR's is a line already."""
    if not location.startswith("loc("):
        return [location]
    return [line_text((file, int(line))) for file, line in _LINE.findall(location)]


def _yaml(remark: Remark) -> str:
    lines = [
        f"--- !{remark.kind.capitalize()}",
        f"Pass: {remark.pass_name}",
        f"Name: {remark.rule}",
        f"Message: {_quoted(remark.message)}",
    ]
    lines += [f"Kernels: [{', '.join(map(_quoted, remark.ops))}]"] if remark.ops else []
    lines += [f"Locations: [{', '.join(map(_quoted, remark.locations))}]"] if remark.locations else []
    lines += ["Args:", *(f"  - {n}: {_quoted(str(v))}" for n, v in remark.numbers)] if remark.numbers else []
    return "\n".join([*lines, "..."])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
