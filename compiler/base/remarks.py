"""Structured remarks: why something was or was not done, with the numbers and the user's lines."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

from .dataclass import dataclass
from .launch import line_text

#: A place inside a location as MLIR prints it.
_PLACE = re.compile(r'"([^"]+)":(\d+):(\d+)')
#: A name inside it, or a file, which a line follows.
_NAME = re.compile(r'"([^"]+)"(:\d+)?')


@dataclass(frozen=True)
class Loss:
    """What a refusal leaves on the table, by estimate and at most: bytes of device memory that one kernel
    would not move, and microseconds, those of a launch among them.  What it would compute again is taken off
    only by rules that compare the times of one kernel and of two.
    """

    bytes: int
    microseconds: float


_AROUND = "what it keeps apart is in the pairs of fuse-vertical around it, which have a cost"

#: Passes whose refusals have no ``Loss``, or one rule of a pass, and why.
WITHOUT_LOSS: Mapping[str, str] = {
    "import": _AROUND,
    "choose-libraries": _AROUND,
    "derive-cascades": _AROUND,
    "activate-products": _AROUND,
    "concat-products-in-place": _AROUND,
    "commute-row-scales": "it compares two forms of one kernel and takes the faster one",
    "split-reductions": "it compares two forms of one kernel and takes the faster one",
    "choose-tiling": "it takes another tile; what that costs is known where it has run",
    "write-in-place": "it costs memory and no time: the remark has the bytes",
    "compile-budget": "it says which decision breaks a budget",
    "fuse-user-epilogues: configurations": "a remark for each pair follows",
    "fuse-user-prologues: configurations": "a remark for each pair follows",
}


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
    loss: Loss | None = None  #: of what was missed; see ``WITHOUT_LOSS``

    @property
    def nodes(self) -> tuple[str, ...]:
        """The FX nodes that the locations name."""
        found = [pair for location in self.locations for pair in _NAME.findall(location)]
        return tuple(name for name, line in found if not line)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON has them."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Remark":
        """What ``to_dict`` gave, also when it has been through JSON."""
        lists = {name: tuple(data[name]) for name in ("ops", "locations")}
        loss = None if data["loss"] is None else Loss(**data["loss"])
        numbers = tuple((n, v) for n, v in data["numbers"])
        return Remark(**{**data, **lists, "numbers": numbers, "loss": loss})


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

    def refused(
        self,
        pass_name: str,
        rule: str,
        message: str,
        loss: Loss,
        *,
        ops: tuple[str, ...],
        locations: tuple[str, ...],
        **numbers: Any,
    ) -> None:
        """Appends a ``missed`` remark with what the refusal costs."""
        told = tuple(numbers.items())
        self.items.append(Remark(pass_name, "missed", rule, message, ops, locations, told, loss))

    def worst(self, count: int | None = None) -> "Remarks":
        """The fusions that were missed and would save most time, by estimate, the first of all."""
        known = [remark for remark in self.items if remark.loss is not None]
        known.sort(key=lambda remark: -remark.loss.microseconds)  # type: ignore[union-attr]
        return Remarks(known[:count])

    def to_list(self) -> list[dict[str, Any]]:
        """All remarks as JSON has them."""
        return [remark.to_dict() for remark in self.items]

    @staticmethod
    def from_list(data: Iterable[Mapping[str, Any]]) -> "Remarks":
        """What ``to_list`` gave."""
        return Remarks([Remark.from_dict(remark) for remark in data])

    def render(self, form: str, *, costs: bool = False) -> str:
        """All remarks as ``text`` (a line each, which names the lines of the program) or ``yaml`` (a document
        each, in the form of LLVM's optimisation remarks: `llvm-opt-report` reads them but prints those
        of three passes of LLVM only).  ``costs`` puts what a missed fusion would save in front of its line,
        and makes one line of those that one cause keeps apart: the same rule, numbers, lines and cost.
        """
        if form != "text":
            return "\n".join(map(_yaml, self.items))
        if not costs:
            return "\n".join(_text([remark]) for remark in self.items)
        alike = dict[object, list[Remark]]()
        for remark in self.items:
            cause = (remark.pass_name, remark.rule, remark.numbers, *remark_lines(remark), remark.loss)
            alike.setdefault(cause if remark.loss else id(remark), []).append(remark)
        return "\n".join(f"{_cost(remarks)}{_text(remarks)}" for remarks in alike.values())


def remark_lines(remark: Remark) -> list[str]:
    """The user's lines that the locations name, as ``model.py:12``, without repetition."""
    return list(dict.fromkeys(line for location in remark.locations for line in _lines(location)))


#: Of remarks that are one line, the ops of so many are named.
_NAMED = 4


def _cost(alike: Sequence[Remark]) -> str:
    """What stands in front of a line: the cost of each of the remarks, and how many they are."""
    loss = alike[0].loss
    times = f"{len(alike)} times " if len(alike) > 1 else ""
    return f"{times}{loss.microseconds:.2f} us, {loss.bytes} bytes: " if loss else ""


def _text(alike: Sequence[Remark]) -> str:
    """The line of a remark, or of several that say the same of other ops."""
    remark = alike[0]
    numbers = "".join(f", {n}={v}" for n, v in remark.numbers)
    named = [" + ".join(each.ops) for each in alike[:_NAMED] if each.ops]
    named += [f"and {len(alike) - _NAMED} more"] * (len(alike) > _NAMED)
    ops = f" [{'; '.join(named)}]" if named else ""
    lines = remark_lines(remark)
    where = f" at {', '.join(lines)}" if lines else ""
    return f"{remark.kind}: {remark.pass_name}: {remark.rule}{numbers}: {remark.message}{ops}{where}"


def _places(location: str) -> list[tuple[str, int, int]]:
    """(file, line, column) of each place inside a location as MLIR prints it, or of ``file:line``."""
    if location.startswith("loc("):
        return [(file, int(line), int(column)) for file, line, column in _PLACE.findall(location)]
    file, _, line = location.rpartition(":")
    return [(file, int(line), 0)] if file and line.isdecimal() else [(location, 0, 0)]


def _lines(location: str) -> list[str]:
    """``file:line`` of each place inside a location."""
    return [line_text((file, line)) for file, line, _ in _places(location)]


def _yaml(remark: Remark) -> str:
    """What ``YAMLRemarkParser`` of LLVM reads: it knows these keys and no others, and an argument is one key
    with a value and, perhaps, a place.  The values together are the message, as LLVM's tools show it.
    """
    places = [place for location in remark.locations for place in _places(location)[:1]]
    lines = [
        f"--- !{remark.kind.capitalize()}",
        f"Pass:            {remark.pass_name}",
        f"Name:            {remark.rule}",
        *(f"DebugLoc:        {_debug_loc(place)}" for place in places[:1]),
        f"Function:        {_quoted(remark.ops[0] if remark.ops else 'main')}",
        "Args:",
        *_argument("String", remark.message),
    ]
    told = list(dict.fromkeys(place for location in remark.locations for place in _places(location)))
    for number, op in enumerate(remark.ops):
        own = places[number : number + 1] if len(places) == len(remark.ops) else []
        lines += [*_argument("String", " + " if number else " ["), *_argument("Kernel", op, *own)]
    lines += _argument("String", "]") if remark.ops else []
    for name, value in remark.numbers:
        lines += [*_argument("String", f", {name}="), *_argument(name, str(value))]
    for number, place in enumerate(told):
        lines += [
            *_argument("String", ", " if number else " at "),
            *_argument("Line", line_text(place[:2]), place),
        ]
    return "\n".join([*lines, "..."])


def _argument(key: str, value: str, *place: tuple[str, int, int]) -> list[str]:
    return [
        f"  - {key + ': ':<17}{_quoted(value)}",
        *(f"    DebugLoc:        {_debug_loc(p)}" for p in place),
    ]


def _debug_loc(place: tuple[str, int, int]) -> str:
    file, line, column = place
    return f"{{ File: {_quoted(file)}, Line: {line}, Column: {column} }}"


def _quoted(text: str) -> str:
    return "'" + " ".join(text.split("\n")).replace("'", "''") + "'"
