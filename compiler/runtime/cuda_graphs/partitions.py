"""A launch plan in parts: what a CUDA graph can hold becomes functions of their own, the rest stays in
``run``.

``partitioned_plan`` cuts the plan's source where ``graph_safety`` says.  The lines of a recorded region move
into

    def partition_0(args):
        a0, t3 = args
        args.clear()
        a0_p = a0.data_ptr()
        ...
        return [t7]

and ``run`` calls it.  Tensors and sizes travel; addresses never do: who needs one computes it again, by the
line that computed it first.
"""

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ...ir.storage import functions_of
from ...mlir import ir
from ..plans.bound_plan import BoundPlan
from ..plans.launch_plan import WrittenPlan, write_in_regions
from ..plans.partition import Partition
from .safety import Region, Safety, graph_safety

#: Variables that are valid in one function only: addresses, and the stream (recording has its own).
_ADDRESS = re.compile(r"\w+_p|stream")


def partitioned_plan(module: ir.Module, static: Collection[int]) -> BoundPlan:
    """The launch plan of a planned module, cut.  ``static``: numbers of ``@main``'s arguments whose address
    never changes (parameters, buffers, lifted constants).
    """
    main = functions_of(module)["main"]
    safety = graph_safety(main, module, static)
    written = write_in_regions(module, _numbers(safety))
    return _Cutter(written, safety, main, frozenset(static)).cut()


def _numbers(safety: Safety) -> list[int]:
    return [n for n, region in enumerate(safety.regions) for _ in range(region.begin, region.end)]


@dataclass(frozen=True)
class _Names:
    """Variables of a piece of straight-line Python: read before they are set, read, set."""

    needs: dict[str, None]
    reads: dict[str, None]
    sets: dict[str, None]

    @staticmethod
    def of(lines: Sequence[str]) -> "_Names":
        needs: dict[str, None] = {}
        reads: dict[str, None] = {}
        sets: dict[str, None] = {}
        for statement in ast.parse("\n".join(line.strip() for line in lines)).body:
            nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
            for node in nodes:
                if isinstance(node.ctx, ast.Load):
                    reads[node.id] = None
                    if node.id not in sets:
                        needs[node.id] = None
            sets.update({node.id: None for node in nodes if isinstance(node.ctx, ast.Store)})
        return _Names(needs, reads, sets)


class _Cutter:
    """Cuts one plan.  ``lines[k]`` are those of region *k*; the prologue is kept apart."""

    def __init__(
        self,
        written: WrittenPlan,
        safety: Safety,
        main: ir.Operation,
        static: frozenset[int],
    ) -> None:
        self.plan, self.holders = written.plan, written.holders
        self.safety = safety
        arguments = list(main.regions[0].blocks[0].arguments)
        self.static = {written.names[a] for i, a in enumerate(arguments) if i in static}
        body = [line.strip() for line in written.run.splitlines()]
        self.beside = written.plan.source.removesuffix(written.run)
        starts = [*written.starts, len(body)]
        self.prologue = body[1 : starts[0]]
        self.lines = [body[starts[r.begin] : starts[r.end]] for r in safety.regions]
        self.names = [_Names.of(lines) for lines in self.lines]
        self.locals = dict.fromkeys(
            n for names in (_Names.of(self.prologue), *self.names) for n in names.sets
        )
        self.addresses = {
            line.split(" = ")[0]: line
            for line in reversed([*self.prologue, *(x for lines in self.lines for x in lines)])
            if _ADDRESS.fullmatch(line.split(" = ")[0])
        }

    def cut(self) -> BoundPlan:
        functions: list[str] = []
        partitions: list[Partition] = []
        run, held = ["def run(args):", *self.prologue], set(_Names.of(self.prologue).sets)
        for number, region in enumerate(self.safety.regions):
            if region.recorded:
                inputs, outputs = self._inputs(number), self._outputs(number)
                name = f"partition_{len(partitions)}"
                functions += self._function(name, number, inputs, outputs)
                dead = [
                    n for n in sorted(held) if n not in self.addresses and not self._used_later(n, number)
                ]
                run.append(f"given = [{', '.join(inputs)}]")
                run += [f"del {', '.join(dead)}"] if dead else []
                run.append((f"{', '.join(outputs)}, = " if outputs else "") + f"{name}(given)")
                held = held.difference(dead) | set(outputs)
                partitions.append(self._partition(name, inputs, region, len(outputs)))
            else:
                run += [self.addresses[n] for n in self._addresses(self.names[number].needs) if n not in held]
                held |= set(self._addresses(self.names[number].needs)) | set(self.names[number].sets)
                run += self._kept(self.lines[number], held)
        text = self.beside + "\n".join([*functions, run[0], *("    " + line for line in run[1:])]) + "\n"
        return replace(
            self.plan, source=text, partitions=tuple(partitions), unrecorded=self.safety.unrecorded
        )

    def _function(self, name: str, number: int, inputs: list[str], outputs: list[str]) -> list[str]:
        held = set(inputs) | set(self.names[number].sets)
        body = [f"{', '.join(inputs)}, = args"] if inputs else []
        body.append("args.clear()")
        body += [self.addresses[n] for n in self._addresses(self.names[number].needs)]
        body += self._kept(self.lines[number], held)
        return [f"def {name}(args):", *("    " + line for line in [*body, f"return [{', '.join(outputs)}]"])]

    def _kept(self, lines: Sequence[str], held: set[str]) -> list[str]:
        """The lines without ``del`` of what is not there."""
        kept = []
        for line in lines:
            if line.startswith("del "):
                there = [n for n in line[4:].split(", ") if n in held]
                held.difference_update(there)
                line = "del " + ", ".join(there) if there else ""
            kept += [line] if line else []
        return kept

    def _addresses(self, needed: dict[str, None]) -> list[str]:
        """The addresses among ``needed`` and those they are computed from, in an order that can be
        computed."""
        found: dict[str, None] = {}

        def visit(name: str) -> None:
            if name in self.addresses and name not in found:
                for other in _Names.of([self.addresses[name]]).needs:
                    visit(other)
                found[name] = None

        for name in needed:
            visit(name)
        return list(found)

    def _needs(self, number: int) -> dict[str, None]:
        """What region ``number`` takes from before it: tensors and sizes, also those behind addresses."""
        own = self.names[number]
        needed = dict(own.needs)
        for name in self._addresses(own.needs):
            needed.update(_Names.of([self.addresses[name]]).needs)
        return {n: None for n in needed if n in self.locals and n not in self.addresses}

    def _inputs(self, number: int) -> list[str]:
        return list(self._needs(number))

    def _outputs(self, number: int) -> list[str]:
        return [n for n in self.names[number].sets if n not in self.addresses and self._used_later(n, number)]

    def _used_later(self, name: str, number: int) -> bool:
        return any(name in self._needs(later) for later in range(number + 1, len(self.lines)))

    def _partition(self, name: str, inputs: list[str], region: Region, results: int) -> Partition:
        variables = {name for root in region.writes for name in self.holders.get(root, ())}
        return Partition(
            name,
            tuple(inputs),
            tuple(i for i, n in enumerate(inputs) if n in self.static),
            tuple(i for i, n in enumerate(inputs) if n in variables),
            results,
        )
