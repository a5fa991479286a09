"""What in a kernel depends on its reductions."""

from ...ir.kernel import over
from ...mlir import ir
from .shape import KernelShape


def reached(shape: KernelShape, roots: list[ir.Operation]) -> set[ir.Operation]:
    """Everything that depends on the roots, without them."""
    found: set[ir.Operation] = set()
    seeds = set(roots)
    for op, producers in shape.producers.items():
        if not (found.isdisjoint(producers) and seeds.isdisjoint(producers)):
            found.add(op)
    return found


def visits_again(shape: KernelShape, dims: tuple[str, ...]) -> bool:
    """Whether something at each point, of ``dims`` and of the other reduced dims, needs what is reduced over
    the others: the gradient of a norm, whose rows are reduced first.
    """
    kernel, everything = shape.kernel, set(shape.reduced)
    others = [op for op in kernel.reductions if not set(over(op)) & set(dims)]
    return any(everything <= kernel.op_dims[op] for op in reached(shape, others))
