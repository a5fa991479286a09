"""The launch plan: what a planned module does when it runs, as plain data.

``make_plan.py`` makes it from the module.  Python (``python_source.py``), a text to be read by people
(``plan_text.py``) and the parts that CUDA graphs record (``cuda_graphs/partitions.py``) are made from it.  It
is stored as JSON (``base/json_data.py``), and ``validate.py`` checks what is read.  Reading, validating and
printing a plan needs neither MLIR nor Triton.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, TypeVar

from ...base.dataclass import dataclass
from ...base.launch import Unrecorded
from .externs import Extern, Named
from .steps import Recorded, Step, Value, walk

_Kind = TypeVar("_Kind")

#: The function that runs the program.
MAIN = "run"


@dataclass(frozen=True)
class KernelParameters:
    """A kernel that is launched, and what it takes: ``ptr``, or the type of a number ("i32")."""

    name: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class PlanFunction:
    """Steps with parameters, the last of which is a ``Return``.

    kind: a "graph" (the program or a sub-graph) owns its arguments, gets them as a list, empties it, and may
    free them.  "control" flow gets them one by one.
    """

    name: str
    kind: Literal["graph", "control"]
    parameters: tuple[Value, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Partition:
    """A function of the plan that is recorded.  ``inputs``: what it takes, by the plan's variables.

    static: positions of inputs whose address never changes.  mutated: positions of inputs that it writes
    into.  results: how many results it gives.
    """

    name: str
    inputs: tuple[str, ...]
    static: tuple[int, ...]
    mutated: tuple[int, ...]
    results: int


@dataclass(frozen=True)
class Plan:
    """A program.  Names of what belongs to a sub-graph start with the sub-graph's and a dot.

    device: where tensors lie that say nothing else ("cpu", "cuda:0").  kernels, externs: what is launched and
    called, in the order of first use.  functions: each before those that call it, so the program, ``run``, is
    the last.
    unrecorded: where CUDA graphs record parts of ``run``, the calls between them.  peak: bytes that are
    allocated at a time, at most, where that is known and asked for.
    """

    device: str
    kernels: tuple[KernelParameters, ...]
    externs: tuple[Extern, ...]
    functions: tuple[PlanFunction, ...]
    unrecorded: tuple[Unrecorded, ...] = ()
    peak: int | None = None

    @property
    def main(self) -> PlanFunction:
        return self.functions[-1]

    @property
    def device_index(self) -> int:
        """The number of the plan's device; 0 for a CPU."""
        _, _, number = self.device.partition(":")
        return int(number or 0)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """What CUDA graphs record, in order."""
        recorded = [step for step in self.main.steps if isinstance(step, Recorded)]
        return tuple(Partition(r.name, r.inputs, r.static, r.mutated, len(r.results)) for r in recorded)

    def steps(self) -> Iterator[Step]:
        """The steps of all functions, those inside others too."""
        for function in self.functions:
            yield from walk(function.steps)


def moved(plan: Plan, device: str) -> Plan:
    """The plan with all that it has on its GPU on ``device`` ("cuda:1")."""
    return plan if plan.device == device else _moved(plan, plan.device, device)


def _moved(value: _Kind, old: str, new: str) -> _Kind:
    """``value`` with the fields called ``device``, and torch's devices among arguments, replaced."""
    made: Any = value
    if isinstance(value, Named):
        made = Named(f"device:{new}") if value.text == f"device:{old}" else value
    elif isinstance(value, tuple):
        made = tuple(_moved(item, old, new) for item in value)
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        other = {
            name: new if name == "device" and part == old else _moved(part, old, new)
            for name, part in parts.items()
        }
        if any(other[name] is not part for name, part in parts.items()):
            made = replace(value, **other)
    return made
