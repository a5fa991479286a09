"""Issue slots of scalar operations, as products count what is computed in front of them and behind them."""

from ...mlir import ir

#: Operations that a function (exp, tanh), a quotient, or an integer that becomes a float takes as long as;
#: erf is a polynomial, measured in front of and behind products.
_SLOTS = {"math": 8, "math.erf": 14, "arith.divf": 8, "arith.sitofp": 7, "arith.uitofp": 7}


def slots_of(op: ir.Operation) -> int:
    """Issue slots of a scalar operation on floats; 0 of others: guards and indices cost little."""
    if not op.name.startswith(("arith.", "math.")) or op.name == "arith.constant":
        return 0
    if not isinstance(op.results[0].type, ir.FloatType):
        return 0
    return _SLOTS.get(op.name, _SLOTS.get(op.name.partition(".")[0], 1))
