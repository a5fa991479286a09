"""A launch plan in parts: what a CUDA graph can hold becomes ``Recorded`` steps, the rest stays in ``run``.

``analysis/program/graph_regions.py`` says where to cut.  Tensors and sizes travel between the parts; storage
that was made in one is not taken over in another.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from ...analysis.program.graph_regions import GraphRegions, graph_regions
from ...mlir import ir
from ..plans import steps
from ..plans.make_plan import PlanInRegions, plan_in_regions
from ..plans.plan import Plan
from ..plans.steps import Step, defined, used
from ..torch_names import op_tags


def partitioned_plan(module: ir.Module, static: Collection[int]) -> Plan:
    """The launch plan of a planned module, cut.  ``static``: numbers of ``@main``'s arguments whose address
    never changes (parameters, buffers, lifted constants).
    """
    regions = graph_regions(module, static, op_tags)
    made = plan_in_regions(module, regions.numbers())
    return _Cutter(made, regions, frozenset(made.arguments[i] for i in static)).cut()


class _Cutter:
    """Cuts one plan.  ``static``: variables of arguments whose address never changes."""

    def __init__(self, made: PlanInRegions, regions: GraphRegions, static: frozenset[str]) -> None:
        self.plan = made.plan
        self.recorded = [region.recorded for region in regions.regions]
        self.unrecorded = regions.unrecorded
        main = made.plan.main.steps
        self.prologue = [s for s, region in zip(main, made.regions, strict=True) if region < 0]
        given = {
            s.name: s.given.name for s in self.prologue if isinstance(s, steps.Align) and s.given is not None
        }
        self.static = static | {given[name] for name in static & given.keys()}
        self.regions: list[list[Step]] = [[] for _ in self.recorded]
        for step, region in zip(main, made.regions, strict=True):
            if region >= 0:
                self.regions[region].append(step)
        self.needs = [_needs(region) for region in self.regions]
        self.last = {name: number for number, needs in enumerate(self.needs) for name in needs}
        self.storage = _storage(made.plan)

    def cut(self) -> Plan:
        main = self.plan.main
        cut: list[Step] = [*self.prologue]
        held = {value.name for value in (*main.parameters, *chain.from_iterable(map(defined, self.prologue)))}
        parts = 0
        for number, region in enumerate(self.regions):
            if self.recorded[number]:
                step = self._recorded(f"partition_{parts}", number, held)
                held.difference_update(step.released)
                held.update(step.results)
                cut.append(step)
                parts += 1
            else:
                cut += _kept(region, held)
        functions = (*self.plan.functions[:-1], replace(main, steps=tuple(cut)))
        return replace(self.plan, functions=functions, unrecorded=self.unrecorded)

    def _recorded(self, name: str, number: int, held: set[str]) -> steps.Recorded:
        """Region ``number`` as one step, with ``held`` before it."""
        region, inputs = self.regions[number], self.needs[number]
        written = {self.storage[name] for step in region for name in self._written(step)}
        made = dict.fromkeys(v.name for step in region for v in defined(step))
        return steps.Recorded(
            name,
            inputs,
            tuple(i for i, n in enumerate(inputs) if n in self.static),
            tuple(i for i, n in enumerate(inputs) if self.storage.get(n) in written),
            tuple(n for n in made if self._used_later(n, number)),
            tuple(n for n in sorted(held) if not self._used_later(n, number)),
            tuple(_kept(region, set(inputs))),
        )

    def _used_later(self, name: str, number: int) -> bool:
        return self.last.get(name, -1) > number

    def _written(self, step: Step) -> Iterator[str]:
        """The tensors that a step writes to."""
        positions: Sequence[int] = ()
        if isinstance(step, steps.LaunchTuned):
            yield from step.written
        elif isinstance(step, steps.LaunchKernel):
            positions = step.written
        elif isinstance(step, steps.CallExtern):
            positions = next(e.mutated for e in self.plan.externs if e.name == step.extern)
        if isinstance(step, steps.LaunchKernel | steps.CallExtern):
            yield from (str(step.arguments[i]) for i in positions)


def _needs(region: Sequence[Step]) -> tuple[str, ...]:
    """What steps take from before them, in order."""
    made: set[str] = set()
    needed: dict[str, None] = {}
    for step in region:
        needed.update(dict.fromkeys(name for name in used(step) if name not in made))
        made.update(v.name for v in defined(step))
    return tuple(needed)


def _kept(region: Sequence[Step], held: set[str]) -> Iterator[Step]:
    """The steps without a ``Free`` of what is not ``held``, which is kept up to date."""
    for step in region:
        if isinstance(step, steps.Free):
            names = tuple(n for n in step.names if n in held)
            held.difference_update(names)
            if names:
                yield steps.Free(names)
            continue
        held.update(v.name for v in defined(step))
        yield step


def _storage(plan: Plan) -> dict[str, str]:
    """For each tensor variable of ``run`` the first that holds its storage."""
    aliases = {extern.name: extern.aliases for extern in plan.externs}
    found = {value.name: value.name for value in plan.main.parameters if value.is_tensor}
    for step in plan.main.steps:
        for value in defined(step):
            if value.is_tensor:
                found.setdefault(value.name, value.name)
        if isinstance(step, steps.Align) and step.given is not None:
            found[step.given.name] = found[step.name]
        elif isinstance(step, steps.View | steps.Reuse):
            found[step.result.name] = found[step.base if isinstance(step, steps.View) else step.donor]
        elif isinstance(step, steps.CallExtern):
            for result, operand in aliases[step.extern]:
                found[step.results[result].name] = found[str(step.arguments[operand])]
    return found
