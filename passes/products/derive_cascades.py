"""``derive-cascades``: two products, and what is between them, become one kernel that needs no whole row."""

from collections.abc import Sequence, Set
from typing import ClassVar

from ...compiler.analysis.contraction.held import CHAIN_COLUMNS
from ...compiler.analysis.contraction.tensor_cores import reason_to_sum
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.plan import Refusal
from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.analysis.program.provenance import comes_from
from ...compiler.analysis.tiling import product_rules
from ...compiler.analysis.tiling.choice import NoTiling
from ...compiler.analysis.tiling.held_rules import columns_in_a_loop
from ...compiler.base.dataclass import dataclass
from ...compiler.base.options import Products
from ...compiler.base.remarks import Remarks
from ...compiler.cost.hardware import Hardware
from ...compiler.ir.kernel import CASCADE, LOOPED, Kernel
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..fusion.fused_body import Rewrites
from ..fusion.fusing import groups_of
from ..fusion.group_kernel import group_kernel, plan_of_group
from ..fusion.materialize_fusion import MaterializeFusion
from ..kernels.combine_reductions import combine_softmax
from ..kernels.keep_float32 import widen
from ..pass_base import AnalysisPass, Numerics, hardware_of
from .cascade_copies import joined, own_calls, reader_of_scores, scores_read_outside
from .cascades import NotOnline, chain_of, derive, give_rows, product_of, size_of

#: The name of a kernel that is made to see whether a chain runs on line.
_TRIAL = "cascade"


@dataclass(frozen=True)
class DeriveCascades(AnalysisPass):
    """A product, what is computed of its result, and a product that sums this along the columns of the first
    become one kernel, where the columns may come in blocks: attention, which never has all scores.

    Before::

        %s = call @scores(%q, %k, %e0)          // "fuse.dot" over d
        %m = call @amax(%s, %e1)                // and sub, exp, sum, div
        ..
        %o = call @values(%p, %v, %e9)          // "fuse.dot" over j

    After::

        %o = call @fused_scores_amax_values_0(%q, %k, %v, %e9)

        %x = "fuse.dot"(%q, %k) {over = ["d3"]} : (bf16, bf16) -> f32
        %t, %m, %l = "fuse.online_dot"(%x, %v) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
        %o = arith.divf %t, %l : f32

    ``passes/products/cascades.py`` says when columns may come in blocks, and why the sums are right.  The
    tiling rule ``columns-in-a-loop`` cuts the kernel.  It is one candidate of fusion: no pair of these calls
    pays, as the scores would still be stored.  ``fuse.looped`` marks the kernel, so that fusion keeps its
    columns in a loop.

    Several products may sum what is made of the same scores, as the gradients of attention do.  Each becomes
    a kernel of its own with a copy of all calls that it needs (``cascade_copies.py``), where nothing else
    reads what has rows and columns.  Two that sum along the same columns are one kernel with two results,
    where a block of both fits, and what one sums is no side of the other (heads of one size for keys and for
    values).

    Does not fire where a whole row is needed first (rule ``whole-row``: the remark names the reduction),
    where scores or probabilities are stored or read elsewhere (``stored``), where more than a softmax is
    multiplied, such as the mask of a dropout (``weights``), on types that tensor cores do not multiply
    (``types``), where more than two products are summed (``products``), where a chain of larger scores has
    one of its products (``taken``), where more than 48 calls are between (``size``), where another call must
    run between (``cycle``), where no block fits (``blocks``) or none left enough registers (``spilled``), of
    so few rows without a softmax that ``expand-dots`` multiplies and sums them (``few``), and where a program
    holds all columns of two matrices (``held``), which is a narrow chain.  Of a batch of matrices, such as
    chunks of a sequence, one block of columns may be all.

    ``products``: who computes products, as of ``choose-libraries``.  Unless it is ``generated``, only
    products with ``fuse.cascade`` are derived.  ``spilled`` lists FX nodes whose kernel took too many
    registers with each tile that was tried.

    Remarks: ``passed: cascade`` with the calls of each kernel, ``missed`` with one of these rules.
    """

    name: ClassVar[str] = "derive-cascades"
    numerics: ClassVar[Numerics] = "precision"
    preserves: ClassVar[Analyses] = (Program,)
    hardware: str = "generic"
    products: Products = "auto"
    spilled: tuple[str, ...] = ()

    def _is_asked_for(self, graph: GroupGraph, last: int, marked: Set[str]) -> bool:
        """Whether all products are kernels that may fuse, or a product is one of a pair that pays."""
        return self.products == "generated" or graph.deps.nodes[last].name in marked

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        marked = {name for name, f in functions_of(module).items() if CASCADE in f.attributes}
        if self.products != "generated" and not marked:
            return
        hardware = hardware_of(self.hardware, self, module)
        program, graph = analyses.get(Program), groups_of(analyses)
        judged = self._judged(program, graph, hardware, marked)
        found = joined(
            graph,
            [chain for chain, reason in judged if reason is None],
            lambda both: _reason(program, graph, both, hardware) is None,
        )
        for chain, reason in judged:
            nodes = [graph.deps.nodes[n] for n in chain]
            others = [c[-1] for c, r in judged if r is None and c != chain and _are_joined(c, chain, found)]
            beside = "".join(f", beside what ends with {graph.deps.nodes[n].name}" for n in others)
            said = f"becomes one kernel{beside}" if reason is None else f"does not: {reason.message}"
            remarks.add(
                self.name,
                "passed" if reason is None else "missed",
                "cascade" if reason is None else reason.rule,
                f"the chain of products that ends with {nodes[-1].name} {said}",
                ops=tuple(n.name for n in nodes),
                locations=tuple(n.location for n in nodes),
            )
        for name in marked:
            del program.functions[name].attributes[CASCADE]
        if not found:
            return
        for number, calls in enumerate(own_calls(program, graph, found)):
            for call in calls:
                call.attributes["fuse.group"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
        before = set(program.functions)
        analyses.keep_only((Program,))
        MaterializeFusion().run_with(module, remarks, analyses)
        for name in [n for n in program.functions if n not in before]:
            kernel = program.functions[name]
            widen(kernel)
            derive(kernel, combine_softmax)
            kernel.attributes[LOOPED] = ir.UnitAttr.get()
            program.clean(kernel)

    def _judged(
        self, program: Program, graph: GroupGraph, hardware: Hardware, marked: Set[str]
    ) -> list[tuple[tuple[int, ...], NotOnline | None]]:
        """The chains that are asked for, in program order, each with the reason why it does not become a
        kernel, or None.  Of chains that share a product, that of the largest scores becomes one, if any does.
        """
        asked = [last for last in graph.summaries if self._is_asked_for(graph, last, marked)]
        chains = {last: chain for last in asked if (chain := chain_of(graph, last)) is not None}
        refused = {last: ((last,), c) for last, c in chains.items() if isinstance(c, NotOnline)}
        whole = [(last, c) for last, c in chains.items() if not isinstance(c, NotOnline)]
        whole.sort(key=lambda item: -_scores_of(graph, item[1], item[0]))
        settled = dict[int, NotOnline | None]()
        while True:
            judged = list[tuple[tuple[int, ...], NotOnline | None]]()
            for last, chain in whole:
                derived = [c for c, reason in judged if reason is None]
                if last in settled:
                    reason = settled[last]
                elif any(c[-1] in chain or last in c for c in derived):
                    reason = NotOnline("taken", "another chain has one of its products")
                elif any(comes_from(graph.deps.nodes[n].op, self.spilled) for n in chain):
                    reason = NotOnline("spilled", "no tile of the kernel left it enough registers")
                else:
                    reason = settled[last] = _reason(program, graph, chain, hardware)
                judged.append((chain, reason))
            _apart(graph, judged)
            stored = {c[-1]: r for c, r in judged if r is not None and settled.get(c[-1], r) is None}
            if not stored:
                return sorted([*judged, *refused.values()], key=lambda item: item[0][-1])
            settled.update(stored)


def _scores_of(graph: GroupGraph, chain: Sequence[int], last: int) -> int:
    """How many elements the products of a chain have that the last one sums, by the hints of symbols."""
    return max(size_of(graph, n) for n in chain if n != last and product_of(graph, n) is not None)


def _are_joined(one: Sequence[int], other: Sequence[int], found: Sequence[Sequence[int]]) -> bool:
    return any({*one, *other} <= {*chain} for chain in found)


def _apart(graph: GroupGraph, judged: list[tuple[tuple[int, ...], NotOnline | None]]) -> None:
    """Gives chains a reason, in place, of which something is read for each row and column that is in no other
    chain that becomes a kernel.
    """
    while True:
        found = [chain for chain, reason in judged if reason is None]
        for place, (chain, reason) in enumerate(judged):
            reader = reader_of_scores(graph, chain, found) if reason is None else None
            if reader is not None:
                message = "what is computed for each row and column is stored, or read elsewhere"
                judged[place] = chain, NotOnline("stored", f"{message}: by {reader}")
                break
        else:
            return


def _reason(
    program: Program, graph: GroupGraph, chain: tuple[int, ...], hardware: Hardware
) -> NotOnline | None:
    """Why a chain does not become a kernel: it is made, derived and cut on trial."""
    nodes, again = {*chain}, scores_read_outside(graph, chain)
    escaping = frozenset(
        r
        for n in chain
        for r, d in zip(graph.deps.nodes[n].results, graph.deps.nodes[n].destinations, strict=True)
        if r not in again and (not nodes.issuperset(graph.deps.users[r]) or not graph.is_fresh(d))
    )
    plan = plan_of_group(graph, chain, escaping)
    if isinstance(plan, Refusal):
        return NotOnline("form", plan.message)
    rewrites: Rewrites = {}
    after = graph.deps.nodes[chain[-1]].callee
    assert after is not None
    trial = group_kernel(graph, plan, escaping, program.unique_name(_TRIAL), after, rewrites).kernel
    try:
        program.clean(trial)
        widen(trial)
        reason = derive(trial, combine_softmax)
        if reason is None:
            give_rows(trial)
            if again:  # no program that holds all columns has all products that need them
                trial.attributes[LOOPED] = ir.UnitAttr.get()
            reason = _uncut(trial, hardware)
        return reason
    finally:
        trial.erase()


def _uncut(kernel: ir.Operation, hardware: Hardware) -> NotOnline | None:
    """Why no program goes through the columns of a kernel."""
    subject = product_rules.Products(KernelShape.of(Kernel.of(kernel)))
    summed = [reason_to_sum(subject.shape, op) for op in subject.shape.kernel.products]
    if any(summed):
        return NotOnline("few", next(reason.message for reason in summed if reason is not None))
    try:
        columns = subject.looped
        if columns is None:
            return NotOnline("form", "its products have no rows in common beside which columns are summed")
        bound = subject.shape.bound(columns.dims)
        batched = len(subject.classes) > len(subject.sides) + len(subject.summed)
        if LOOPED not in kernel.attributes and not batched and bound is not None and bound <= CHAIN_COLUMNS:
            return NotOnline("held", f"a program holds all {bound} columns")
        if batched:  # no program that holds all columns has a batch of matrices
            kernel.attributes[LOOPED] = ir.UnitAttr.get()
        if columns_in_a_loop(subject, hardware) is None:
            return NotOnline("held", "a program holds all columns")
    except NoTiling as error:
        return NotOnline("blocks", str(error))
    return None
