"""``review-libraries``: whether products that became kernels stay that, now that groups are known."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from ...compiler.analysis.contraction.kernel_or_call import Review, Timed
from ...compiler.analysis.contraction.product import Product
from ...compiler.analysis.contraction.surroundings import GroupSurroundings, Surroundings
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.measured import Measurement, PairKeys
from ...compiler.analysis.program.provenance import comes_from, node_names
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.choices import CHOICE, note_choice
from ...compiler.ir.kernel import INSTEAD, string
from ...compiler.ir.sizes import hints_of
from ...compiler.ir.views import root_of
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..fusion.fuse_horizontal import FuseHorizontal
from ..fusion.fuse_vertical import FuseVertical
from ..fusion.fusing import measurements_of
from ..pass_base import AnalysisPass, Numerics, hardware_of, remark_on
from .library_call import LibraryCall


@dataclass(frozen=True)
class ReviewLibraries(AnalysisPass):
    """A kernel with a ``fuse.dot`` becomes a call of torch's libraries again, where it did not get the
    neighbours that ``choose-libraries`` counted on.

    Before::

        %w = call @widen(%q, %e)                                // apart, as something else reads %w
        %y = call @mm_kernel(%x, %w, %g) {fuse.group = 0 : i64}
        %z = call @relu(%y, %h) {fuse.group = 0 : i64}
        %r = call @add(%z, %b, %i) {fuse.group = 0 : i64}

        func.func private @mm(..) attributes {fuse.extern = "aten.mm.default", ..}
        func.func private @mm_kernel(..) attributes {fuse.instead = @mm, fuse.kernel, ..}

    After::

        %w = call @widen(%q, %e)
        %y = call @mm(%x, %w)
        %z = call @relu(%y, %h) {fuse.group = 0 : i64}
        %r = call @add(%z, %b, %i) {fuse.group = 0 : i64}

    ``choose-libraries`` runs before fusion, and takes for granted that a kernel of a product fuses with the
    pointwise kernels around it.  This pass runs when ``fuse.group`` says what fuses.  Both figures are
    estimated again, by the same model: the kernel moves what the members of its group read that make its
    operands; the call moves its operands, and those members are kernels beside it.  A kernel goes back that
    is estimated to take longer, or to save less than a hundredth by blocks, which take up to a second to
    compile.  Its group is dissolved, the library is called with views of what the kernel read, and
    ``fuse-vertical`` and ``fuse-horizontal`` run again for what is around it.
    ``choose-libraries`` asks for more than that, as it cannot know what fuses.  A kernel of blocks goes back,
    too, where its group computes what it would have refused in front of the product: more than casts of what
    another kernel made, or a concatenation with which a block reads two tensors.

    What was decided is ``fuse.choice`` of the call, and a remark: ``passed`` where a kernel goes back,
    ``analysis`` where it stays, with the rule that decided, ``kernel_us`` and ``call_us``.

    A product stays a kernel, unseen, where its group has another product that reads what is made of it, or of
    which it reads what is made: no memory lies between the two (remark ``analysis: chain``).  So do two
    products of the same rows in segments, which were weighed together, unless their kernel spilled.

    Does not fire on kernels without ``fuse.instead`` (``choose-libraries{products=generated}`` writes none),
    nor where a pass has changed what the kernel computes or reads, so that no view of it is what the library
    took.  ``fuse.instead`` is erased from all kernels.

    ``fusions`` is the table that the fusing passes read.  Where it names the group of a product, what was
    measured decides (rule ``measured``): ``kernel_us`` is of the kernel of the group then, and ``call_us`` of
    the call and the kernels around it.  With ``back=all`` every kernel goes back that can.

    ``spilled`` lists FX nodes whose kernel took more registers or shared memory than there are with each tile
    that was tried, which is known once Triton has compiled it.  Products among them go back whatever is
    estimated (rule ``spilled``), unless they were measured.

    Raises PassError on an unknown ``hardware``, and on a table that cannot be read.
    """

    name: ClassVar[str] = "review-libraries"
    preserves: ClassVar[Analyses] = (Program, GroupGraph)
    numerics: ClassVar[Numerics] = "reassociates"
    hardware: str = "generic"
    fusions: str = ""
    back: Literal["slower", "all"] = "slower"
    spilled: tuple[str, ...] = ()

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        review = Review(hardware_of(self.hardware, self, module), self.back)
        measured = measurements_of(self.name, self.fusions, module)
        program = analyses.get(Program)
        replacing = [f for f in program.functions.values() if INSTEAD in f.attributes]
        if not replacing:
            return
        keys = group_keys(analyses.get(GroupGraph)) if measured else {}
        timed = {call: _timed(measured[key]) for call, key in keys.items() if key in measured}
        back = self._losers(program, review, timed, remarks)
        dissolved = {call.attributes["fuse.group"] for call in back if "fuse.group" in call.attributes}
        for call in program.calls() if dissolved else ():
            if "fuse.group" in call.attributes and call.attributes["fuse.group"] in dissolved:
                del call.attributes["fuse.group"]
        for call in back:
            library = LibraryCall.of(program, call, program.facts())  # what it reads may be a new call's
            assert library is not None, "it was one before others went back"
            library.restore(program, call)
        for kernel in replacing:
            del kernel.attributes[INSTEAD]
        program.erase_unused()
        if back:
            analyses.put(GroupGraph.of(module, before=analyses.cached(GroupGraph)))
            self._fuse_again(module, remarks, analyses)

    def _losers(
        self, program: Program, review: Review, timed: Mapping[ir.Operation, Timed], remarks: Remarks
    ) -> list[ir.Operation]:
        """The calls of kernels that go back."""
        reviewed = reviewed_products(program)
        chained, paired = _chained(program, reviewed), _paired(reviewed)
        found = []
        for call, (product, around) in reviewed.items():
            nodes, spilled = tuple(node_names(call.location)), comes_from(call, self.spilled)
            together = call in chained or (call in paired and not spilled)
            choice = review.of(product, around, timed=timed.get(call), chained=together, spilled=spilled)
            name = string(program.callee(call).attributes["sym_name"])
            if not choice.generated:
                becomes = f"goes back to the library: a kernel of its group {choice.why}"
                found.append(call)
            else:
                beside = ", with another product of its group" if choice.rule == "chain" else ""
                becomes = f"stays a kernel{beside}"
            kind = "analysis" if choice.generated else "passed"
            remark_on(call, remarks, self.name, kind, choice.rule, f"@{name} {becomes}", **choice.numbers)
            if choice.rule != "chain" or CHOICE not in call.attributes:  # a chain was weighed as a whole
                note_choice(call, choice.noted(nodes, revocable=choice.rule == "kernel"))
        return found

    def _fuse_again(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        """What is around the calls; remarks that were made before are not made twice."""
        said, new = set(remarks.items), Remarks()
        for fusing in (FuseVertical, FuseHorizontal):
            fusing(hardware=self.hardware, fusions=self.fusions).run_with(module, new, analyses)
        remarks.items += [remark for remark in new.items if remark not in said]


def reviewed_products(program: Program) -> dict[ir.Operation, tuple[Product, GroupSurroundings]]:
    """By the calls of kernels that could go back, in order: their product, and what is around it."""
    facts, around = program.facts(), Surroundings(program.functions, hints_of(program.main))
    found = {}
    for call in program.calls():
        library = LibraryCall.of(program, call, facts)
        if library is not None:
            group = call.attributes.get("fuse.group", None)
            found[call] = (library.product, around.of_group(group))
    return found


def group_keys(graph: GroupGraph) -> dict[ir.Operation, str]:
    """The key of the group of each call of a product that a table of measurements may name."""
    keys = PairKeys(graph)
    products = [
        n for n in graph.summaries if INSTEAD in (graph.deps.nodes[n].callee or graph.deps.main).attributes
    ]
    return {graph.deps.nodes[n].op: keys(graph.members[graph.group_of[n]]) for n in products}


def _timed(measured: Measurement) -> Timed:
    numbers = dict(measured.numbers)
    slower = measured.refusal is not None
    return Timed(numbers.get("us_together"), numbers.get("us_apart"), slower)


def _paired(reviewed: Mapping[ir.Operation, tuple[Product, GroupSurroundings]]) -> set[ir.Operation]:
    """The calls of kernels with products of the same rows in segments that are in one group: these were
    weighed together.
    """
    groups: dict[tuple[object, ...], list[ir.Operation]] = {}
    for call, (product, _) in reviewed.items():
        if product.segments and not product.sums_segments and "fuse.group" in call.attributes:
            ends = product.values["left"], product.values["ends"]
            groups.setdefault((call.attributes["fuse.group"], *ends), []).append(call)
    return {call for calls in groups.values() if len(calls) > 1 for call in calls}


def _chained(program: Program, reviewed: Iterable[ir.Operation]) -> set[ir.Operation]:
    """In the groups of ``reviewed`` calls, those of kernels with a product of which another product of the
    same group reads what is made, and the calls of those others.
    """
    groups: dict[ir.Attribute, list[ir.Operation]] = {
        call.attributes["fuse.group"]: [] for call in reviewed if "fuse.group" in call.attributes
    }
    for call in program.calls():
        if "fuse.group" in call.attributes and call.attributes["fuse.group"] in groups:
            groups[call.attributes["fuse.group"]].append(call)
    found: set[ir.Operation] = set()
    around = Surroundings(program.functions, hints_of(program.main))
    for calls in groups.values():
        if sum(map(around.multiplies, calls)) < 2:
            continue
        made: dict[ir.Value, set[ir.Operation]] = {}  # value -> products that it is made of
        for call in calls:
            before = set[ir.Operation]().union(
                *(made.get(root_of(v), set[ir.Operation]()) for v in around.read_by(call))
            )
            if around.multiplies(call):
                found |= {call, *before} if before else set()
                before = {call}
            made.update({result: before for result in call.results})
    return found
