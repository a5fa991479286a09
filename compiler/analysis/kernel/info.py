"""What is known of a kernel's body without its IR, read once: its operations, and its summary.

A graph repeats its kernels, and several passes ask about the same ones.  So what was read is kept by the
kernel's printed code; printing takes less time than reading.  Float constants are left out of this key, as
nothing here says anything about them.

Readings that need the IR are made of ``ir.kernel.Kernel``: the shape that tiles are chosen by, traffic, and
the plan of tile code.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import field

from ...base.dataclass import dataclass
from ...cost.slots import slots_beside_products
from ...ir.kernel import ASSERTS, INDEX_CHECK, code_of, is_tiled
from ...mlir import ir
from .accesses import Summary

#: Operands of a load at no computed index: a tensor, a guard, and what is read where that is false.
PLAIN_LOAD = 3


@dataclass(frozen=True)
class BodyOps:
    """The operations of a scalar kernel in order, with the return.

    names: of each.  needs: of each, itself and all that it depends on, as bits.  loads: by operation, the
    argument that it loads.  lookups: those that load at a computed index.  scattered: those of them whose
    index is loaded, too, or made of what is.  returned: by result, what stores it.  slots: issue slots of
    each point beside a product (``slots_beside_products``).  checks_indices_alone: it asserts nothing but
    that indices are in range.
    """

    names: tuple[str, ...] = ()
    needs: tuple[int, ...] = ()
    loads: Mapping[int, int] = field(default_factory=dict)
    lookups: frozenset[int] = frozenset()
    scattered: frozenset[int] = frozenset()
    returned: tuple[int, ...] = ()
    slots: int = 0
    checks_indices_alone: bool = True

    @staticmethod
    def of(kernel: ir.Operation) -> "BodyOps":
        """Reads a kernel function."""
        names, needs, returned = list[str](), list[int](), tuple[int, ...]()
        loads, lookups, made, issued = dict[int, int](), set[int](), dict[ir.Value, int](), 0
        scattered, read = set[int](), 0
        indices_alone = True
        for number, op in enumerate(kernel.regions[0].blocks[0].operations):
            operands, name = list(op.operands), op.name
            mask = 1 << number
            for value in operands:
                if value in made:
                    mask |= needs[made[value]]
            names.append(name)
            needs.append(mask)
            made.update((result, number) for result in op.results)
            if name == "fuse.load":
                loads[number] = ir.BlockArgument(operands[0]).arg_number
                if len(operands) > PLAIN_LOAD:
                    lookups.add(number)
                    indices = [needs[made[v]] for v in operands[PLAIN_LOAD:] if v in made]
                    if any(mask & read for mask in indices):
                        scattered.add(number)
                read |= 1 << number
            elif name == "func.return":
                returned = tuple(made.get(value, number) for value in operands)
            elif name in ASSERTS:
                indices_alone = indices_alone and INDEX_CHECK in op.attributes
            else:
                issued += slots_of(op)
        found = tuple(names), tuple(needs), loads, frozenset(lookups), frozenset(scattered), returned, issued
        return BodyOps(*found, checks_indices_alone=indices_alone)

    @property
    def looks_up(self) -> bool:
        """Whether something is loaded at a computed index."""
        return bool(self.lookups)

    def tables(self, result: int) -> set[int]:
        """The arguments of which something that runs for one result is loaded at a computed index."""
        mask = self.needs[self.returned[result]]
        return {self.loads[number] for number in self.lookups if mask >> number & 1}

    def rows(self, result: int) -> set[int]:
        """Those of ``tables`` that are loaded at loaded indices; those made of dims move with them."""
        mask = self.needs[self.returned[result]]
        return {self.loads[number] for number in self.scattered if mask >> number & 1}

    def needed(self, result: int) -> tuple[Counter[str], list[int]]:
        """What runs for one result: how many ops of each name, and the numbers of the loaded arguments."""
        mask = self.needs[self.returned[result]]
        ops = [number for number in range(len(self.names)) if mask >> number & 1]
        loaded = {self.loads[number] for number in ops if number in self.loads}
        return Counter([self.names[number] for number in ops]), sorted(loaded)


@dataclass(frozen=True)
class KernelInfo:
    """What is known of a kernel.  ``body`` is empty of tile code and of declarations.  ``summary``: None for
    these, too, and for kernels that store a tensor in several steps: none of them ever fuses.
    """

    body: BodyOps = BodyOps()
    summary: Summary | None = None

    @staticmethod
    def of(kernel: ir.Operation) -> "KernelInfo":
        """Of any function; read once for all that have the same code but for float constants."""
        if is_tiled(kernel) or not len(kernel.regions[0].blocks):
            return _NOTHING
        code = code_of(kernel)
        known = _digest(code)
        if known not in _read:
            if len(_read) >= MOST_KEPT:
                _read.clear()
            same = _digest(_FLOATS.sub(rb"\1", code))
            if same not in _read:
                _read[same] = KernelInfo(BodyOps.of(kernel), _summary(kernel))
            _read[known] = _read[same]
        return _read[known]


def slots_of(op: ir.Operation) -> int:
    """Issue slots of a scalar operation on floats beside a product; 0 of others: guards and indices cost
    little.
    """
    found = slots_beside_products(op.name)
    return found if found and isinstance(op.results[0].type, ir.FloatType) else 0


def _summary(kernel: ir.Operation) -> Summary | None:
    try:
        return Summary.of(kernel)
    except ValueError:
        return None


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


_NOTHING = KernelInfo()
#: In printed code, the value of a constant, and its type, which stays.
_FLOATS = re.compile(rb"arith\.constant \S+ (: b?f\d\S*)")

#: Number of kernels of which what was read is kept.
MOST_KEPT = 1 << 15
_read: dict[bytes, KernelInfo] = {}
