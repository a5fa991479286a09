"""Which values of a kernel are seen only after they were rounded to 16 bits or fewer.

Such a value may carry an error of a few units in the last place of float32: the rounding that follows is
2**13 times as coarse for float16, 2**16 times for bfloat16.  It must reach that rounding through operations
that keep a relative error as it is (products, quotients, selections); a sum or difference can cancel, an
exponential multiplies the error, and a comparison or a reduction shows it.  An error function or hyperbolic
tangent to which 1 is added (GELU) needs no more than an error relative to 1.
"""

from ..mlir import ir

#: Results whose relative error is about the sum of the operands' errors.
_KEEPS = frozenset(
    ("arith.mulf", "arith.divf", "arith.negf", "arith.maximumf", "arith.minimumf", "math.absf")
    + ("arith.maxnumf", "arith.minnumf", "math.round", "math.roundeven", "math.clampf", "arith.select")
)
#: Functions within -1 and 1 that GELU adds to 1.
_BESIDE_ONE = frozenset({"math.erf", "math.tanh"})
_COARSE_FLOATS = ("f16", "bf16", "f8E4M3FN", "f8E5M2")


def coarse_ops(block: ir.Block) -> frozenset[ir.Operation]:
    """The f32 operations of a kernel's block all of whose uses end in a rounding to 16 bits or fewer."""
    coarse: set[ir.Operation] = set()
    for view in reversed(list(block.operations)):
        op = view.operation
        if len(op.results) != 1 or str(op.results[0].type) != "f32":
            continue
        uses = list(op.results[0].uses)
        if uses and all(
            _rounded(use.owner.operation, use.operand_number, coarse)
            or (op.name in _BESIDE_ONE and adds_one(use.owner.operation) and use.owner.operation in coarse)
            for use in uses
        ):
            coarse.add(op)
    return frozenset(coarse)


def adds_one(user: ir.Operation) -> bool:
    """Whether a user is a sum with 1: there an error relative to 1 serves for what is itself at most 1."""
    return user.name == "arith.addf" and 1.0 in _constants(user)


def added_to_ordinary(op: ir.Operation) -> bool:
    """Whether each use of a value adds it to a constant beside which numbers below 2**-126 vanish."""
    uses = list(op.results[0].uses)
    return bool(uses) and all(_adds_ordinary(use.owner.operation) for use in uses)


def _adds_ordinary(user: ir.Operation) -> bool:
    return user.name == "arith.addf" and any(abs(c) >= 2.0**-60 for c in _constants(user))


def _constants(user: ir.Operation) -> list[float]:
    """The float constants among an op's operands."""
    made = [v.owner.operation for v in user.operands if not isinstance(v.owner, ir.Block)]
    values = [op.attributes["value"] for op in made if op.name == "arith.constant"]
    return [ir.FloatAttr(value).value for value in values if isinstance(value, ir.FloatAttr)]


def _bytes_only(user: ir.Operation) -> bool:
    """Whether an integer is cut to 8 bits."""
    return user.name == "arith.trunci" and str(user.results[0].type) == "i8"


def _rounded(user: ir.Operation, position: int, coarse: set[ir.Operation]) -> bool:
    """Whether a use as operand ``position`` rounds, or passes on to what is rounded."""
    if user.name == "arith.truncf":
        return str(user.results[0].type) in _COARSE_FLOATS
    if user.name in ("arith.fptosi", "arith.fptoui"):
        return all(_bytes_only(use.owner.operation) for use in user.results[0].uses)
    if user.name == "arith.select" and position == 0:
        return False
    return user.name in _KEEPS and user in coarse
