"""What the passes share that move starts of collectives, or waits for them."""

from collections.abc import Callable, Iterable, Sequence

from ...compiler.analysis.cost.collectives import is_start
from ...compiler.analysis.program.collective_order import Flights, moved
from ...compiler.analysis.program.dependences import Dependences, extern_name
from ...compiler.analysis.program.program_order import sequence
from ...compiler.base.remarks import Loss, Remarks
from ...compiler.ir.sizes import hints_of
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..base.kernels import require_unplanned
from ..base.program import Program


def schedulable(
    name: str, module: ir.Module, analyses: AnalysisManager
) -> tuple[Program, Dependences] | None:
    """The calls of ``@main`` for the pass ``name``, which moves collectives; None where no function of the
    module starts any: then nothing is analysed.  Raises PassError where memory is planned.
    """
    if not any(is_start(extern_name(f)) for f in functions_of(module).values()):
        return None
    program, deps = analyses.get(Program), Dependences.of(module)
    require_unplanned(deps, name)
    return program, deps


def has_symbolic_sizes(
    name: str,
    program: Program,
    deps: Dependences,
    starts: Sequence[int],
    remarks: Remarks,
    loss: Callable[[], Loss],
) -> bool:
    """Whether a size of ``@main`` is symbolic, which is a remark of the pass ``name`` about ``starts``, nodes
    that start collectives.  ``loss``: what it costs not to move them."""
    if not hints_of(program.main):
        return False
    first = deps.nodes[starts[0]]
    remarks.refused(
        name, "symbolic-sizes", "processes may have other hints of a symbolic size", loss(),
        ops=(first.name,), locations=(first.location,), collectives=len(starts),
    )  # fmt: skip
    return True


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
