"""Which values of a kernel are seen only after they were rounded to 16 bits or fewer.

Such a value may carry an error of a few units in the last place of float32: the rounding that follows is
2**13 times as coarse for float16, 2**16 times for bfloat16.  It must reach that rounding through operations
that keep a relative error as it is (products, quotients, selections); a sum or difference can cancel, an
exponential multiplies the error, and a comparison or a reduction shows it.  An error function or hyperbolic
tangent to which 1 is added (GELU and its gradient) needs no more than an error relative to 1, as that sum has
one already, if what follows up to the rounding are such operations and sums.

Where eager rounds between two ops and the kernel does not (``keep-float32``), the value that was rounded has
the mark ``fuse.coarse``: its error need not be smaller than beside the rounding that eager makes.
"""

from ...ir.contractions import PRODUCTS
from ...ir.defining import constant_number, forward_slice
from ...mlir import arith, ir, math

#: The attribute of an ``arith.truncf`` to 16 bits that no cast of the program's asks for: eager rounds there
#: since an op ends.
IMPLICIT = "fuse.implicit"
#: The attribute of an op whose f32 result is rounded to 16 bits in eager mode for all that reads it, whether
#: the kernel rounds it or not.
COARSE = "fuse.coarse"
#: Results whose relative error is about the sum of the operands' errors.
_KEEPS = (
    *(arith.MulFOp, arith.DivFOp, arith.NegFOp, arith.MaximumFOp, arith.MinimumFOp, math.AbsFOp),
    *(arith.MaxNumFOp, arith.MinNumFOp, math.RoundOp, math.RoundEvenOp, math.ClampFOp, arith.SelectOp),
)
_SUMS = (arith.AddFOp, arith.SubFOp)
#: Functions within -1 and 1.
_WITHIN_ONE = (math.ErfOp, math.TanhOp)
#: Arithmetic whose result is a factor of a product.
_INTO_PRODUCTS = (
    *(arith.MulFOp, arith.AddFOp, arith.SubFOp, arith.NegFOp, math.FmaOp),
    *(arith.SelectOp, arith.TruncFOp, arith.ExtFOp),
)
#: Classes of operations.
Kinds = tuple[type[ir.OpView], ...]
_COARSE_FLOATS = ("f16", "bf16", "f8E4M3FN", "f8E5M2")


def coarse_values(block: ir.Block) -> frozenset[ir.Value]:
    """The f32 results in a kernel's block all of whose uses end in a rounding to 16 bits or fewer, or in one
    that eager makes.
    """
    return _reaching(block, _KEEPS)


def beside_one_values(block: ir.Block) -> frozenset[ir.Value]:
    """The results of a kernel's f32 functions from -1 to 1 whose error need only be small beside 1."""
    summed = _reaching(block, _KEEPS + _SUMS)

    def beside_one(op: ir.Operation) -> bool:
        users = [use.owner for use in op.results[0].uses]
        return bool(users) and all(
            user.results[0] in summed
            and (
                (isinstance(user, _SUMS) and 1.0 in _constants(user))
                or (
                    isinstance(user, arith.MulFOp)
                    and user.operands[0] == user.operands[1]
                    and beside_one(user)
                )
            )
            for user in users
        )

    found = (op for op in block.operations if isinstance(op, _WITHIN_ONE))
    return frozenset(op.results[0] for op in found if str(op.results[0].type) == "f32" and beside_one(op))


def _reaching(block: ir.Block, through: Kinds) -> frozenset[ir.Value]:
    """The f32 results of operations that are marked, or all of whose uses reach a rounding to 16 bits or
    fewer ``through`` operations.
    """
    found: set[ir.Value] = set()
    for op in reversed(list(block.operations)):
        if len(op.results) != 1 or str(op.results[0].type) != "f32":
            continue
        uses = list(op.results[0].uses)
        if COARSE in op.attributes or (
            uses and all(_rounded(u.owner, u.operand_number, found, through) for u in uses)
        ):
            found.add(op.results[0])
    return frozenset(found)


def added_to_ordinary(op: ir.Operation) -> bool:
    """Whether each use of a value adds it to a constant beside which numbers below 2**-126 vanish."""
    uses = list(op.results[0].uses)
    return bool(uses) and all(_adds_ordinary(use.owner) for use in uses)


def summed_by_products(op: ir.Operation) -> bool:
    """Whether all that is computed of a value is a factor of products of matrices, which add it up beside
    others: numbers below 2**-126 may be 0 there.
    """
    made = forward_slice(op.results, lambda user: user.name in PRODUCTS)
    return all(user.name in PRODUCTS or isinstance(user, _INTO_PRODUCTS) for user in made)


def _adds_ordinary(user: ir.Operation) -> bool:
    return isinstance(user, arith.AddFOp) and any(abs(c) >= 2.0**-60 for c in _constants(user))


def _constants(user: ir.Operation) -> list[float]:
    """The float constants among an op's operands."""
    return [number for v in user.operands if (number := constant_number(v)) is not None]


def _bytes_only(user: ir.Operation) -> bool:
    """Whether an integer is cut to 8 bits."""
    return isinstance(user, arith.TruncIOp) and str(user.results[0].type) == "i8"


def _rounded(user: ir.Operation, position: int, found: set[ir.Value], through: Kinds) -> bool:
    """Whether a use as operand ``position`` rounds, or passes on to what is rounded."""
    if isinstance(user, arith.TruncFOp):
        return str(user.results[0].type) in _COARSE_FLOATS
    if isinstance(user, (arith.FPToSIOp, arith.FPToUIOp)):
        return all(_bytes_only(use.owner) for use in user.results[0].uses)
    if isinstance(user, arith.SelectOp) and position == 0:
        return False
    return isinstance(user, through) and user.results[0] in found
