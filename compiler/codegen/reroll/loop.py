"""A loop in place of copies of one body.  Its arguments are what a copy takes of the ones before, and what is
loaded for the copies to come.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...ir.dialects import tt
from ...mlir import arith, ir, scf
from ..tile_builder import TileBuilder, shape_of
from .copies import Copies, Earlier, Stepped
from .order import Ordered

#: Results of the ops of a copy: by their place in it, and the number of the result.
Values = dict[tuple[int, int], ir.Value]


class StepLoop:
    """Writes the loop.  Single use.

    unrolled: copies that one iteration computes, at least 1.  What they load ahead of everything that an
              earlier copy makes is loaded one iteration before.
    """

    def __init__(self, ordered: Ordered, copies: Copies, unrolled: int) -> None:
        left = copies.count % unrolled
        self.copies = replace(copies, start=copies.start + left * copies.period)
        self.ordered, self.unrolled = ordered, unrolled
        self.builder = TileBuilder()
        self.carried = sorted(self.copies.carried(), key=lambda slot: (slot[2], slot))
        self.ahead = self._ahead()
        self.behind = [at for at in range(copies.period) if at not in self.ahead]
        self.handed = self._handed()

    def rewrite(self, block: ir.Block) -> None:
        """Replaces the copies in a block, whose other ops take the order of the stores."""
        copies, ops = self.copies, self.ordered.ops
        *body, end = block.operations
        stay = {
            *ops[: copies.start],
            *ops[copies.stop :],
        }  # before any operand changes, on which hashes depend
        constants = [op.operation for op in body if isinstance(op, arith.ConstantOp)]
        gone = [
            op.operation for op in body if not isinstance(op, arith.ConstantOp) and op.operation not in stay
        ]
        for op in constants:
            op.move_before(end)
        for n in (*range(copies.start), *range(copies.stop, len(ops))):
            ops[n].operation.move_before(end)
            for i, source in enumerate(self.ordered.sources[n]):
                if isinstance(source, tuple):
                    ops[n].operands[i] = self.ordered.value(source)
        here = ops[copies.stop] if copies.stop < len(ops) else end.operation
        with ir.InsertionPoint(here), here.location:
            past = self._loop()
        for n in range(copies.stop, len(ops)):
            for i, source in enumerate(self.ordered.sources[n]):
                if isinstance(source, tuple) and copies.start <= source[0] < copies.stop:
                    copy, at = divmod(source[0] - copies.start, copies.period)
                    ops[n].operands[i] = past[copy - copies.count][at, source[1]]
        for op in reversed(gone):
            op.erase()
        for op in constants:
            if not any(True for _ in op.results[0].uses):
                op.erase()

    def _ahead(self) -> frozenset[int]:
        """The places of the loads that no earlier copy has a part in, and of what they need."""
        start, free, found = self.copies.start, set[int](), set[int]()
        for at in range(self.copies.period):
            before = [o for o in self.copies.of(start + at) if isinstance(o, Earlier)]
            places = [self.copies.back(start + at, o) for o in before]
            if all(copy == 0 and place in free for place, copy in places):
                free.add(at)
        for at in range(self.copies.period - 1, -1, -1):
            if at in found or (at in free and isinstance(self.ordered.ops[start + at], tt.Load)):
                found.add(at)
                operands = (o for o in self.copies.of(start + at) if isinstance(o, Earlier))
                found.update(self.copies.back(start + at, o)[0] for o in operands)
        return frozenset(found)

    def _handed(self) -> list[tuple[int, int]]:
        """The results of these that other ops take."""
        start, found = self.copies.start, dict[tuple[int, int], None]()
        for at in self.behind:
            for operand in self.copies.of(start + at):
                if isinstance(operand, Earlier):
                    place, copy = self.copies.back(start + at, operand)
                    if copy == 0 and place in self.ahead:
                        found[place, operand.result] = None
        taken = (*self.carried, *self.copies.taken_behind(self.ordered))
        found.update({(at, result): None for at, result, _ in taken if at in self.ahead})
        return list(found)

    def _loop(self) -> Sequence[Values]:
        """Emits everything; returns the results of the copies, the last ones at the end."""
        builder, copies, step = self.builder, self.copies, self.unrolled
        ends = copies.count // step - 1  # the last iteration loads nothing ahead
        first, stop, by = (builder.constant(n, "i32") for n in (0, ends * step, step))
        begun = [v for u in range(step) for v in self._loaded(None, u)]
        start, period = copies.start, copies.period
        before = [self.ordered.value((start + at - d * period, result)) for at, result, d in self.carried]
        loop = scf.ForOp(first, stop, by, [*before, *begun])
        with builder.inside(loop.body):
            arguments, number = list(loop.inner_iter_args), loop.induction_variable
            coming = [v for u in range(step) for v in self._loaded(number, step + u)]
            past = self._group(arguments, number, 0)
            scf.YieldOp([*self._last(past), *coming])
        return self._group(list(loop.results), None, ends * step)

    def _loaded(self, number: ir.Value | None, further: int) -> Iterable[ir.Value]:
        """What is loaded ahead for the copy ``number + further``, None for 0."""
        values: Values = {}
        self._emit(sorted(self.ahead), [values], number, further)
        return [values[key] for key in self.handed]

    def _group(self, state: Sequence[ir.Value], number: ir.Value | None, further: int) -> list[Values]:
        """The copies of one iteration, from its arguments on."""
        past, loaded = self._past(state), iter(state[len(self.carried) :])
        for u in range(self.unrolled):
            past.append({key: next(loaded) for key in self.handed})
            self._emit(self.behind, past, number, further + u)
        return past

    def _past(self, state: Sequence[ir.Value]) -> list[Values]:
        """What the arguments hold of earlier copies, the last one at the end."""
        past = [Values() for _ in range(max(d for _, _, d in self.carried))]
        for (at, result, distance), value in zip(self.carried, state, strict=False):
            past[-distance][at, result] = value
        return past

    def _last(self, past: Sequence[Values]) -> list[ir.Value]:
        return [past[-distance][at, result] for at, result, distance in self.carried]

    def _emit(self, places: Iterable[int], past: list[Values], number: ir.Value | None, further: int) -> None:
        """Ops of the copy ``number + further``, whose results join the last of ``past``."""
        copies, here = self.copies, ir.InsertionPoint.current
        for at in places:
            place, operands = copies.start + at, dict[int, ir.Value]()
            op = self.ordered.ops[place]
            for i, operand in enumerate(copies.of(place)):
                if isinstance(operand, Earlier):
                    source, distance = copies.back(place, operand)
                    operands[i] = past[-1 - distance][source, operand.result]
                elif isinstance(operand, Stepped):
                    first = copies.number(operand, place) + further * operand.step
                    operands[i] = self._number(first, operand.step, number, op.operands[i].type)
                elif isinstance(operand, tuple):
                    operands[i] = self.ordered.value(operand)
            copy = op.operation.clone(here).operation
            for i, value in operands.items():
                copy.operands[i] = value
            past[-1].update({(at, n): value for n, value in enumerate(copy.results)})

    def _number(self, first: int, step: int, number: ir.Value | None, type_: ir.Type) -> ir.Value:
        """``first + step * number`` in a type, or in each lane of one."""
        builder, element = self.builder, tt.element_of(type_)
        shape = tuple(tt.shape_of(type_))
        if number is None:
            return builder.constant(first, element, shape)
        key = ("number", first, step, str(element))
        value = builder.recall(key)
        if value is None:
            narrow = ir.IntegerType(element).width < 32
            value = number if narrow else builder.cast("arith.extsi", number, element)
            for name, other in (("arith.muli", step), ("arith.addi", first)):
                value = builder.elementwise(name, [value, builder.constant(other, value.type)])
            if narrow:
                value = builder.cast("arith.trunci", value, element)
            builder.remember(key, value)
        return builder.to(value, shape)


def held_registers(ordered: Ordered, copies: Copies, threads: int) -> float:
    """Registers of a thread that hold what one copy loads."""
    loads = [
        n for n in range(copies.start, copies.start + copies.period) if isinstance(ordered.ops[n], tt.Load)
    ]
    held = 0.0
    for n in loads:
        type_ = ordered.ops[n].results[0].type
        lanes = 1
        for extent in shape_of(ordered.ops[n].results[0]):
            lanes *= extent
        bits = 64 if str(tt.element_of(type_)) in ("f64", "i64") else 32
        held += max(1.0, lanes / threads) * bits / 32
    return held
