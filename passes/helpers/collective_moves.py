"""What the passes share that move starts of collectives, or waits for them."""

from collections.abc import Callable, Iterable, Sequence

from ...compiler.analysis.cost.collectives import is_start
from ...compiler.analysis.program.collective_order import Flights, moved
from ...compiler.analysis.program.dependences import Dependences, extern_name
from ...compiler.analysis.program.program_order import sequence
from ...compiler.base.remarks import Remarks
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import ir
from .kernels import require_unplanned
from .program import Program


def declares_starts(module: ir.Module) -> bool:
    """Whether a function of the module starts collectives; asked before anything is analysed."""
    return any(is_start(extern_name(f)) for f in functions_of(module).values())


def move_calls(
    name: str,
    module: ir.Module,
    program: Program,
    remarks: Remarks,
    order_of: Callable[[Dependences], Sequence[int]],
    calls_of: Callable[[Flights], Iterable[int]],
    told: tuple[str, str, str],
) -> None:
    """Brings the calls of ``@main`` into the order that ``order_of`` gives, if one of ``calls_of`` moves.

    ``name``: of the pass.  ``told``: of the remark, its rule, its message, and what it counts.  Raises
    PassError where memory is planned.
    """
    deps = Dependences.of(module)
    require_unplanned(deps, name)
    order = order_of(deps)
    calls = moved(order, calls_of(Flights.of(deps)))
    if not calls:
        return
    first = deps.nodes[calls[0]]
    rule, message, counted = told
    remarks.add(
        name, "passed", rule, message,
        ops=(first.name,), locations=(first.location,), **{counted: len(calls)},
    )  # fmt: skip
    program.arrange([deps.nodes[n].op for n in sequence(deps, order)])
