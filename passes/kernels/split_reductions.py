"""``split-reductions``: a reduction with few results and many points is cut into slices that run in parallel.

Where a kernel would run as too few programs for the GPU, by the hints of its sizes, one reduced dim is cut
into slices:

- a first kernel reduces each slice into a workspace, and does all that does not depend on the result;
- a second kernel combines the slices, always in the same order, and does the rest;
- where the rest runs over the reduced dims again (softmax, layer norm of long rows), the second kernel only
  combines, and a third does the rest.  Each is then tiled for what it does.

If the first kernel stores a value that the rest needs, the rest reads it instead of computing it again, where
that reads fewer bytes.  There are no atomics, so results do not vary between runs.

Before::

    // @total: fuse.dims = {d0 = "1048576"}, a sum over d0
    %y = call @total(%x, %o) : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>

After::

    // @total_slices: fuse.dims = {d0 = "4096", d1 = "256"}
    // @total_rest: fuse.dims = {d1 = "256"}
    %w0 = "fuse.empty"() {syms = []} : () -> tensor<256xf32>
    %w = call @total_slices(%x, %w0)
        : (tensor<1048576xf32>, tensor<256xf32>) -> tensor<256xf32>
    %y = call @total_rest(%w, %o) : (tensor<256xf32>, tensor<f32>) -> tensor<f32>

Slices keep 16 KB of 32 columns, or of a row.  Where columns would then run as few programs (one for each
multiprocessor; where slices also store at each point, three), slices are shorter, of at least 4 KB: a program
waits for each block of its rows.  No more than 32 slices are made so, which one block combines.

Where slices do not cover the dim exactly, points beyond its end are guarded: nothing is read or written
there, and they add nothing to the result.  In a ``fuse.welford`` they have weight 0, and the means of slices
are combined with the numbers of their points as weights.

The columns of a ``fuse.online_dot`` are cut where its rows leave programs idle: slices have 64 columns or
more, and read at least four times the bytes that they write for the second kernel.

The groups of weights that share a scale are cut where 17 to 64 rows are multiplied by one group after the
other, and blocks of all rows and 128 of at least 4096 rows of weights leave multiprocessors idle.

It does not fire:

- where there are enough programs (two for each multiprocessor; of products of tiles, one);
- where rows are read again after their reduction, each multiprocessor has a row, and the L2 cache holds all
  rows: one kernel then reads them twice at little cost;
- where columns are read again, each multiprocessor or pair of them has 32, and the L2 cache holds all
  (``columns_read_again``): one launch takes less time than three that wait for each other;
- in a module without ``@main``;
- where a rule refuses (the ``missed`` remarks below).

Remarks: ``passed: split``, with the number of slices; ``missed: short`` where slices would be shorter than
16 KB (of products: 512 points, of a ``fuse.online_dot``: 64) or fewer than three, ``scan`` where a scan
crosses the dim, ``overlap`` where another reduction crosses the dim together with others or reduces what is
computed of products, ``uneven`` where the dim of a ``fuse.online_expectation`` has no divisor near the
wanted number of slices, ``weights`` where a ``fuse.welford`` has weights.
"""

from dataclasses import field
from typing import ClassVar

from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.analysis.tiling.slicing import NotSliced, Slicing, plan_slices
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.cost.hardware import Hardware
from ...compiler.ir.kernel import REDUCTIONS, Kernel, code_of
from ...compiler.ir.sizes import hints_of
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..base.kernels import kernel_body
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics, hardware_of, remark_on
from .slices import SliceCut, split

#: A kernel's later reductions are split in later rounds.
_ROUNDS = 4


@dataclass(frozen=True)
class SplitReductions(AnalysisPass):
    """Splits long reductions for ``hardware``."""

    name: ClassVar[str] = "split-reductions"
    numerics: ClassVar[Numerics] = "reassociates"
    hardware: str = "generic"

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware = hardware_of(self.hardware, self, module)
        if "main" not in functions_of(module):
            return
        whole: set[str] = set()  # kernels that stay as they are
        program = analyses.get(Program)
        plans = _Plans(hardware, hints_of(program.main))
        for _ in range(_ROUNDS):
            changed = False
            for call, func in program.kernel_calls():
                name = ir.StringAttr(func.attributes["sym_name"]).value
                if name in whole:
                    continue
                decision = plans.of(func)
                if isinstance(decision, SliceCut):
                    slicing = decision.slicing
                    split(program, call, program.own(call, func), decision)
                    changed = True
                    numbers = {"slices": slicing.count, "programs": slicing.programs}
                    message = f"the reductions of @{name} over {slicing.dim} run in slices"
                    remark_on(func, remarks, self.name, "passed", "split", message, **numbers)
                    continue
                whole.add(name)
                if decision is not None:
                    message = f"@{name}: {decision.message}"
                    remark_on(func, remarks, self.name, "missed", decision.rule, message)
            program.erase_unused()
            if not changed:
                return


@dataclass
class _Plans:
    """What becomes of each kernel, cached by kernel code: the layers of a model share theirs.  ``hints``: of
    the sizes of the program.
    """

    hardware: Hardware
    hints: dict[str, int]
    _known: dict[bytes, SliceCut | NotSliced | None] = field(default_factory=dict)

    def of(self, func: ir.Operation) -> SliceCut | NotSliced | None:
        """As ``plan_slices`` says."""
        if not any(op.name in REDUCTIONS for op in kernel_body(func)):
            return None
        code = code_of(func)
        if code not in self._known:
            kernel = Kernel.of(func)
            found = plan_slices(KernelShape.of(kernel, hints=self.hints), self.hardware)
            self._known[code] = SliceCut.of(kernel, found) if isinstance(found, Slicing) else found
        return self._known[code]
