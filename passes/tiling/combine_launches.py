"""``combine-launches``: independent small kernels run as parts of one launch."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from ...compiler.analysis.cost.traffic import ATTRIBUTE, combined_traffic
from ...compiler.analysis.fusion.score import loss_of
from ...compiler.analysis.program.dependences import Dependences, Node
from ...compiler.analysis.program.launch_groups import Part, refusal
from ...compiler.analysis.program.launch_order import LaunchOrder
from ...compiler.analysis.program.program_order import FLOATING
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.codegen.combined_kernel import CombinedKernel, Form
from ...compiler.cost.hardware import Hardware
from ...compiler.index import parse
from ...compiler.ir.choices import join_choices
from ...compiler.ir.dialects import tt
from ...compiler.ir.kernel import argument_attributes, is_tiled, is_users, strings
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.sizes import estimate, hints_of
from ...compiler.ir.tile import Tile
from ...compiler.mlir import func, ir
from ..analysis_manager import AnalysisManager
from ..base.kernels import require_unplanned, text_list
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, hardware_of

#: Launches that a call is tried with, the nearest ones: keeps the work linear.
_TRIED = 32
#: Bytes by which the peak may grow: nothing beside a model, and enough for what small kernels make.
_SLACK = 512 << 10
#: Characters of a combined kernel's name before a number.
_LONGEST_NAME = 60


@dataclass(frozen=True)
class CombineLaunches(AnalysisPass):
    """Calls of tiled kernels that do not depend on each other become one call, whose programs are divided
    among them.

    Before::

        %y = call @scale(%x, %o)                // fuse.grid = ["4"]
        %b = call @scale(%a, %p)
        %d = call @shift(%c, %q)                // fuse.grid = ["2"]

    After::

        %y, %b, %d = call @combined_scale(%x, %o, %a, %p, %c, %q)       // fuse.grid = ["10"]

        func.func private @combined_scale(...) attributes {fuse.grid = ["10"], fuse.ties = array<i64: 1, 3,
            5>, fuse.tile = {axes = [], ..}} {
          %n = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
          scf.if (%n < 8) {
            // programs 0 to 3 work for the first call, 4 to 7 for the second
            %in = "fuse.base_of"(%n / 4, %x, %a)
            %out = "fuse.base_of"(%n / 4, %o, %p)
            ... the code of @scale for program %n mod 4 of %in, %out
          } else {
            ... the code of @shift for program %n - 8 of "fuse.base"(%c), "fuse.base"(%q)
          }
          return %o, %p, %q
        }

    The code of equal kernels is emitted once.  A call moves up to an earlier launch, or a launch down to a
    later call, as far as dependences allow and as long as the peak of memory does not rise.  Arguments count
    as allocated to the end, unless ``@main`` has ``fuse.given``: the caller of a backward graph gives them
    up.
    ``compiler/analysis/program/launch_groups.py`` says when sharing a launch saves time; ``max_ops`` bounds
    the code of one launch.

    Does not fire on kernels that are not tiled, whose grid is empty, that read ``tt.get_num_programs``, or
    that take much longer than a launch costs; nor on calls whose loops differ in pipeline stages, or that
    differ in warps where one of them fills the GPU.  A part that can assert keeps its place among all that
    has effects.

    Remarks: ``passed: combined``; ``missed`` with ``peak-memory``, ``arguments``, ``code-size`` or
    ``unlike``.  Raises PassError where memory is planned:
    ``combine-launches: memory is planned already: found fuse.alloc``.
    """

    name: ClassVar[str] = "combine-launches"
    hardware: str = "generic"
    max_ops: Count = 1024

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware = hardware_of(self.hardware, self, module)
        program = analyses.get(Program)
        deps = Dependences.of(module)
        require_unplanned(deps, self.name)
        hints = hints_of(program.main)
        kernels: dict[str, _Code | None] = {}
        for node in deps.nodes:
            if node.kind == "kernel" and node.callee is not None and node.name not in kernels:
                kernels[node.name] = _Code.of(node.callee)
        asserting = [n.index for n in deps.nodes if (code := kernels.get(n.name)) and code.asserts]
        order = LaunchOrder(deps, hints, asserting)
        parts: dict[int, Part] = {}
        for node in deps.nodes:
            code = kernels.get(node.name)
            if node.kind == "kernel" and code is not None:
                part = _part(deps, node, code, hints)
                in_turn = code.tile.programs > 0  # a grid of one program an SM, whatever there is to do
                if part.programs > 0 and not in_turn and part.is_small(hardware):
                    parts[node.index] = part
        self._group(order, parts, hardware, remarks)
        groups = [order.members[slot] for slot in sorted(order.members) if len(order.members[slot]) > 1]
        if groups:
            for group in groups:
                _report(self.name, remarks, deps, group, parts)
            _Rewriter(program, deps, parts).rewrite(order, groups)

    def _group(
        self, order: LaunchOrder, parts: Mapping[int, Part], hardware: Hardware, remarks: Remarks
    ) -> None:
        open_slots: list[int] = []
        for node in order.deps.nodes:
            if node.kind in FLOATING:
                continue
            part = parts.get(node.index)
            refused: dict[str, int] = {}
            joined = None
            for slot in _tried(open_slots, order, parts, part) if part is not None else ():
                assert part is not None
                rule = refusal([parts[m] for m in order.members[slot]], part, hardware, self.max_ops)
                rule = rule or order.why_not(node.index, slot, _SLACK)
                if rule is None:
                    joined = slot
                    break
                refused.setdefault(rule, order.members[slot][0])
            if joined is not None:
                open_slots.remove(joined)
                open_slots.append(order.join(node.index, joined, _SLACK))
                continue
            order.place(node.index)
            if part is not None:
                open_slots.append(node.index)
                for rule, other in refused.items():
                    if rule in _TOLD:
                        remarks.refused(
                            self.name, rule, _TOLD[rule], loss_of(0, hardware),
                            ops=(parts[other].name, part.name),
                            locations=(order.deps.nodes[other].location, node.location),
                        )  # fmt: skip


def _tried(open_slots: Sequence[int], order: LaunchOrder, parts: Mapping[int, Part], part: Part) -> list[int]:
    """The slots to try for ``part``: first those with a call of its form, whose code is there already; then
    those of which all load ahead, where it does, since the launch then does.

    Without the first, each call of a chain repeated over many tensors (slices, then what combines them) would
    join the end of the chain before it, and as many launches would follow each other as there are chains.
    """
    recent = list(reversed(open_slots[-_TRIED:]))

    def place(slot: int) -> tuple[bool, bool]:
        there = [parts[m] for m in order.members[slot]]
        return all(p.form != part.form for p in there), not all(p.ahead for p in (part, *there))

    return sorted(recent, key=place)


#: Refusals that are worth a remark: what would have to change for the two to share a launch.
_TOLD = {
    "peak-memory": "sharing a launch would keep more bytes alive than the peak",
    "arguments": "a launch of both would have more arguments than CUDA takes",
    "code-size": "the code of both would be too long for one kernel",
    "unlike": "different code on tiles of different sizes, and one of them fills the chip",
}


@dataclass(frozen=True)
class _Code:
    """What the pass reads of a tiled kernel."""

    ops: int
    asserts: bool
    plain: bool
    multiplies: bool
    loops: bool
    tile: Tile

    @staticmethod
    def of(kernel: ir.Operation) -> "_Code | None":
        """None for a kernel that cannot be a part."""
        if not is_tiled(kernel) or is_users(kernel) or "fuse.tile" not in kernel.attributes:
            return None
        block = kernel.regions[0].blocks[0]
        names = [op.name for op in _inside(block)]
        ids = names.count("tt.get_program_id")
        if "tt.get_num_programs" in names or ids != sum(
            isinstance(op, tt.GetProgramId) for op in block.operations
        ):
            return None
        plain = not any(name.startswith(("tt.reduce", "tt.scan", "tt.dot", "scf.")) for name in names)
        tile = Tile.of(kernel.attributes["fuse.tile"])
        loops = any(name in ("scf.for", "scf.while") for name in names)
        return _Code(len(names), "tt.assert" in names, plain, "tt.dot" in names, loops, tile)


def _inside(block: ir.Block) -> Iterator[ir.Operation]:
    for op in block.operations:
        yield op.operation
        for region in op.operation.regions:
            for inner in region.blocks:
                yield from _inside(inner)


def _part(deps: Dependences, node: Node, code: _Code, hints: dict[str, int]) -> Part:
    values = {v: deps.values[v].type for v in node.operands}
    tensors = {v: TensorSpec.of(t) for v, t in values.items() if isinstance(t, ir.RankedTensorType)}
    assert node.callee is not None
    programs = 1
    for extent in strings(node.callee.attributes["fuse.grid"]):
        programs *= estimate(parse(extent), hints)
    passed = frozenset(v for v, t in values.items() if not _is_token(t))
    device = tensors[node.destinations[0]].device if node.destinations else ""
    return Part(
        node=node.index,
        name=node.name,
        form=(node.name, *(v for v in node.operands if v in passed and v not in tensors)),
        resources=(device or "", node.name if code.multiplies else ""),
        stages=code.tile.num_stages if code.loops else None,
        warps=code.tile.num_warps,
        programs=programs,
        moved=sum(estimate(s.numel, hints) * s.element_bytes for s in tensors.values()),
        ops=code.ops,
        arguments=passed,
        plain=code.plain,
        elements=code.tile.elements,
        ahead=code.tile.ahead,
    )


def _is_token(type_: ir.Type) -> bool:
    return str(type_) == "!fuse.token"


class _Rewriter:
    """Makes one call of every group, in the order that was found."""

    def __init__(self, program: Program, deps: Dependences, parts: Mapping[int, Part]) -> None:
        self.program, self.deps, self.parts = program, deps, parts
        self.made: dict[tuple[object, ...], str] = {}

    def rewrite(self, order: LaunchOrder, groups: Sequence[Sequence[int]]) -> None:
        """Lays the operations of ``@main`` out as ``order`` says and replaces each group by one call."""
        self.program.arrange([self.deps.nodes[node].op for node in order.sequence()])
        for group in groups:
            self._combine(group)
        self.program.erase_unused()

    def _by_form(self, group: Sequence[int]) -> list[list[Node]]:
        forms: dict[tuple[object, ...], list[Node]] = {}
        for node in sorted(group):
            forms.setdefault(self.parts[node].form, []).append(self.deps.nodes[node])
        return list(forms.values())

    def _combine(self, group: Sequence[int]) -> None:
        forms = self._by_form(group)
        calls = [node for form in forms for node in form]
        operands = _Operands.of(forms)
        names = tuple(
            (form[0].name, *(tuple(operands.numbers[node.index]) for node in form)) for form in forms
        )
        types = tuple(str(v.type) for v in operands.values)
        if (names, types) not in self.made:
            self.made[names, types] = self._function(forms, operands)
        name = self.made[names, types]
        # The last of the group, as laid out, has all that the others take in front of it.
        last = self.deps.nodes[group[-1]].op
        call = ir.Operation.create(
            "func.call",
            [r.type for node in calls for r in node.op.results],
            operands.values,
            {"callee": ir.FlatSymbolRefAttr.get(name)},
            loc=ir.Location.fused([node.op.location for node in calls]),
            ip=ir.InsertionPoint(last),
        )
        join_choices(call, (node.op for node in calls))
        self.program.callers[name] += 1
        results = iter(call.results)
        for node in calls:
            for result in node.op.results:
                result.replace_all_uses_with(next(results))
        for node in calls:
            self.program.erase_call(node.op)

    def _function(self, forms: list[list[Node]], operands: "_Operands") -> str:
        """The combined kernel."""
        kernels = [_callee(form[0]) for form in forms]
        calls = [node for form in forms for node in form]
        name = self.program.unique_name(f"combined_{forms[0][0].name}"[:_LONGEST_NAME])
        attributes: list[dict[str, ir.Attribute]] = [{} for _ in operands.values]
        for form, kernel in zip(forms, kernels, strict=True):
            for node in form:
                numbers = operands.numbers[node.index]
                for number, known in zip(numbers, argument_attributes(kernel), strict=True):
                    attributes[number].update(known)
        ties = [operands.numbers[n.index][t] for n in calls for t in n.ties]
        types = [v.type for v in operands.values]
        with ir.InsertionPoint(kernels[0]), ir.Location.fused([k.location for k in kernels]):
            function = func.FuncOp(
                name, ([*types], [r.type for n in calls for r in n.op.results]), visibility="private"
            ).operation
        function.regions[0].blocks.append(*types, arg_locs=[function.location] * len(types))
        tiles = [Tile.of(kernel.attributes["fuse.tile"]) for kernel in kernels]
        ahead = all(t.ahead for t in tiles)
        tile = Tile((), max(t.num_warps for t in tiles), max(t.num_stages for t in tiles), ahead=ahead)
        function.attributes["fuse.kernel"] = ir.UnitAttr.get()
        function.attributes["fuse.dims"] = ir.DictAttr.get({})
        function.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get(ties)
        function.attributes["fuse.tile"] = tile.attribute()
        if len({node.name for node in calls}) == 1:
            function.attributes["fuse.part"] = ir.StringAttr.get(calls[0].name)
        if any(attributes):
            function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attributes])
        written = [
            Form(kernel, tuple(tuple(operands.numbers[n.index]) for n in form))
            for form, kernel in zip(forms, kernels, strict=True)
        ]
        programs = CombinedKernel(function, written, tile.num_warps).write(ties)
        function.attributes["fuse.grid"] = text_list([programs])
        moved = [(_callee(n), operands.numbers[n.index]) for n in calls]
        function.attributes[ATTRIBUTE] = combined_traffic(moved, len(types)).attribute()
        self.program.functions[name] = function
        self.program.callers[name] = 0
        return name


@dataclass(frozen=True)
class _Operands:
    """The operands of a combined call: tensors, then numbers, then tokens.

    A tensor in which the calls of one form differ is an argument for each of them, side by side in the order
    of the calls; any other value that is no destination is there once.  ``numbers``: for each call, by node,
    which of ``values`` each of its operands is.
    """

    values: list[ir.Value]
    numbers: dict[int, list[int]]

    @staticmethod
    def of(forms: Sequence[Sequence[Node]]) -> "_Operands":
        values: list[ir.Value] = []
        shared: dict[int, int] = {}
        at: dict[tuple[int, int], int] = {}
        for rank in range(3):
            for form in forms:
                for position, value in enumerate(form[0].op.operands):
                    if _rank(value) != rank:
                        continue
                    table = position in form[0].ties or len({n.operands[position] for n in form}) > 1
                    for node in form:
                        number = node.operands[position]
                        if table or number not in shared:
                            at[node.index, position] = len(values)
                            values.append(node.op.operands[position])
                            if not table:
                                shared[number] = len(values) - 1
                        else:
                            at[node.index, position] = shared[number]
        numbers = {n.index: [at[n.index, p] for p in range(len(n.operands))] for form in forms for n in form}
        return _Operands(values, numbers)


def _rank(value: ir.Value) -> int:
    return 0 if isinstance(value.type, ir.RankedTensorType) else 2 if _is_token(value.type) else 1


def _callee(node: Node) -> ir.Operation:
    assert node.callee is not None
    return node.callee


def _report(
    name: str, remarks: Remarks, deps: Dependences, group: Sequence[int], parts: Mapping[int, Part]
) -> None:
    members = [parts[node] for node in group]
    remarks.add(
        name,
        "passed",
        "combined",
        f"one launch instead of {len(members)}",
        ops=tuple(part.name for part in members),
        locations=tuple(deps.nodes[node].location for node in group),
        kernels=len({part.form for part in members}),
        programs=sum(part.programs for part in members),
    )
