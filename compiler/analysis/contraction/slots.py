"""Issue slots of scalar operations, as products count what is computed in front of them and behind them."""

from ...cost.slots import slots_beside_products
from ...mlir import ir


def slots_of(op: ir.Operation) -> int:
    """Issue slots of a scalar operation on floats; 0 of others: guards and indices cost little."""
    found = slots_beside_products(op.name)
    return found if found and isinstance(op.results[0].type, ir.FloatType) else 0
