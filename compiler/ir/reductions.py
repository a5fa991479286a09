"""Two tables: the ops that cross dims (reductions, scans), and the kinds of fold that they name.

The verifier, tiling, code generation, and the passes that split and unroll reductions read the fields of
``ReductionOp`` and ``FoldKind``.  What each op *computes* is implemented where it is computed: ``Fold`` in
``codegen/folds``, the interpreter's functions, the passes that combine slices.
"""

import math
from collections.abc import Callable
from typing import Literal

from ..base.dataclass import dataclass
from ..mlir import ir


@dataclass(frozen=True)
class ReductionOp:
    """An op that crosses dims.

    keeps:        it has a result for each point that it crosses, as a scan does, and removes no dim.
    starts:       the fold whose identity is the neutral operand; "" where the attribute ``kind`` names that
                  fold, or where there is no neutral operand.
    counts:       it counts its points, so lanes behind the end of a row need a mask, whatever they hold.
    in_parts:     its results for several parts of a row can be combined (``Fold.of_parts``).
    equal_slices: its results for slices of a row can be combined only if all slices are equally long.
    meetings:     how often the warps that share a row exchange partial results.
    trivial:      over one point, its results are its operands.
    """

    name: str
    keeps: bool = False
    starts: str = ""
    counts: bool = False
    in_parts: bool = False
    equal_slices: bool = False
    meetings: int = 1
    trivial: bool = False


REDUCTION_OPS: dict[str, ReductionOp] = {
    op.name: op
    for op in (
        ReductionOp("fuse.reduce", in_parts=True, trivial=True),
        ReductionOp("fuse.argreduce", trivial=True),
        ReductionOp("fuse.welford", counts=True, in_parts=True, meetings=2),
        ReductionOp("fuse.dot", starts="sum", in_parts=True),
        ReductionOp("fuse.online_softmax", starts="max", in_parts=True, meetings=2),
        ReductionOp("fuse.online_expectation", equal_slices=True, meetings=3),
        ReductionOp("fuse.online_dot", starts="max", meetings=2),
        ReductionOp("fuse.scan", keeps=True, trivial=True),
    )
}


@dataclass(frozen=True)
class FoldKind:
    """A value of the attribute ``kind``.

    floats, integers: the op of ``arith`` that combines two elements; "" where there is none for the type.
    identity:         the neutral element: a number, all bits set, or the lowest or highest value of the type.
    truth:            it folds truth values (``i1``) only.
    scans:            ``fuse.scan`` has this kind, too.
    """

    name: str
    floats: str
    integers: str
    identity: Literal[0, 1, "ones", "lowest", "highest"]
    truth: bool = False
    scans: bool = False


FOLD_KINDS: dict[str, FoldKind] = {
    kind.name: kind
    for kind in (
        FoldKind("sum", "arith.addf", "arith.addi", 0, scans=True),
        FoldKind("prod", "arith.mulf", "arith.muli", 1, scans=True),
        FoldKind("max", "arith.maximumf", "arith.maxsi", "lowest", scans=True),
        FoldKind("min", "arith.minimumf", "arith.minsi", "highest", scans=True),
        FoldKind("any", "", "arith.ori", 0, truth=True),
        FoldKind("all", "", "arith.andi", "ones", truth=True),
        FoldKind("xor", "", "arith.xori", 0),
    )
}

#: Kinds of ``fuse.scan``.  Two, of floats, are no folds by a scalar operation: log(sum(exp(x))), which keeps
#: a maximum and a sum, and a linear recurrence, which keeps a product of gates and a value.
LOG_SUM_EXP, LINEAR = "logsumexp", "linear"
SCAN_KINDS = (*(kind.name for kind in FOLD_KINDS.values() if kind.scans), LOG_SUM_EXP, LINEAR)

#: Kinds of ``fuse.argreduce``, each with the fold that computes its extreme.
POSITION_KINDS = {"argmax": "max", "argmin": "min"}


def reductions(wanted: Callable[[ReductionOp], object]) -> tuple[str, ...]:
    """The names of the ops for which ``wanted`` is true."""
    return tuple(op.name for op in REDUCTION_OPS.values() if wanted(op))


def identity_of(kind: str, element: ir.Type) -> int | float:
    """The value that a fold or an argument reduction starts from, and that masked lanes hold.

    element: a float type, or a signless integer type, which is read as signed; ``i1`` is 0 or 1.
    """
    identity = FOLD_KINDS[POSITION_KINDS.get(kind, kind)].identity
    if isinstance(element, ir.FloatType):
        values = {"lowest": -math.inf, "highest": math.inf}
        return float(identity) if isinstance(identity, int) else values[identity]
    if isinstance(identity, int):
        return identity
    width = ir.IntegerType(element).width
    if width == 1:
        return int(identity != "lowest")
    return {"ones": -1, "lowest": -(1 << (width - 1)), "highest": (1 << (width - 1)) - 1}[identity]
