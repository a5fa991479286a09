"""``fuse-user-epilogues``: what reads a user's Triton kernel is computed where that stores its result."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, TypedDict

from ...compiler.analysis.fusion.score import loss_of, pays
from ...compiler.analysis.program.dependences import Dependences, Node
from ...compiler.analysis.user_fusion.epilogue_estimate import lone_microseconds, reader_microseconds
from ...compiler.analysis.user_fusion.user_epilogues import EpilogueSite, plan_epilogue
from ...compiler.analysis.user_fusion.user_writer import EpilogueRefused, UserWriter
from ...compiler.base.dataclass import dataclass
from ...compiler.base.options import UserKernels
from ...compiler.base.remarks import Loss, Remarks
from ...compiler.codegen.tile_ops import NoTileForm
from ...compiler.cost.hardware import Hardware
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, is_kernel, is_tiled, program_facts, takes_others
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.sizes import hints_of, stored_bytes
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics, hardware_of
from .configurations import fuse_alike
from .user_epilogue import Epilogue
from .user_kernels import has_users_kernels
from .user_split import find_cut, replace, split


@dataclass(frozen=True)
class FuseUserEpilogues(AnalysisPass):
    """Computes a scalar kernel at the stores of the user's kernel whose result it reads.

    Before::

        %r = call @matmul(%a, %b, %o)                // a user's kernel: "tt.store"(%at, %tile, %mask)
        %z = call @gelu(%r, %bias, %p)               // reads %r at ["d0", "d1"]

    After: one call, whose tiles are loaded, computed and stored as those of ``@matmul`` are.  Nothing stores
    ``%r`` unless something else reads it::

        %z = call @matmul_1(%a, %b, %bias, %p)       // "tt.store"(%at_p, gelu(%tile + %bias_tile), %mask)

    The map of the store says which element each lane holds; the reader's coordinates are solved for its dims
    there.  So a view between the two, a transposed copy, a slice, broadcast operands, casts and several
    results are the same case.  A reduction is computed where one tile holds the whole axis.

    A reader that can be computed there in part only is cut in two, if that moves less memory: of a sum that
    is stored and normalised, the sum is computed in the user's kernel, and the norm reads the sum.

    Does not fire where a rule of ``compiler/analysis/user_fusion/user_writer.py`` refuses.

    Remarks: ``passed: fused``; ``passed: cut``; ``missed`` with the name of the rule, and what it
    would save at most (``--sort=cost``).
    """

    name: ClassVar[str] = "fuse-user-epilogues"
    numerics: ClassVar[Numerics] = "precision"
    preserves: ClassVar[Analyses] = (Program,)
    hardware: str = "generic"
    user_kernels: UserKernels = "fused"  #: apart: nothing is done

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        if self.user_kernels == "fused" and has_users_kernels(module):
            fuse_alike(self.name, module, remarks, analyses, self._run)

    def _run(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        fuser = _Fuser(self.name, module, program, remarks, hardware_of(self.hardware, self, module))
        while fuser.fuse_one():
            pass
        fuser.report_missed()
        program.erase_unused()


#: Rules that may refuse a part of a reader only.
_CUTTABLE = ("reduction", "other-points")


class _About(TypedDict):
    """The calls that a remark is about."""

    ops: tuple[str, ...]
    locations: tuple[str, ...]


class _Fuser:
    """The pairs of one module, and why those that were tried stay apart."""

    def __init__(
        self, name: str, module: ir.Module, program: Program, remarks: Remarks, hardware: Hardware
    ) -> None:
        self.name, self.module, self.program, self.remarks = name, module, program, remarks
        self.hardware, self.hints = hardware, hints_of(program.main)
        self.facts = program_facts(program.main)
        self.writers: dict[str, UserWriter] = {}
        self.refused: dict[tuple[ir.Operation, ir.Operation], EpilogueRefused] = {}
        self.deps = Dependences.of(module)

    def fuse_one(self) -> bool:
        """Merges the first pair that the rules allow; whether there was one."""
        for writer, reader in pairs(self.deps):
            if (writer.op, reader.op) in self.refused:
                continue
            try:
                self._fuse(writer, reader)
            except EpilogueRefused as why:
                if why.rule not in _CUTTABLE or not self._cut(writer, reader):
                    self.refused[writer.op, reader.op] = why
                    continue
            self.deps = Dependences.of(self.module)
            return True
        return False

    def report_missed(self) -> None:
        """A remark for each pair that is apart."""
        for writer, reader in pairs(self.deps):
            why = self.refused[writer.op, reader.op]
            message = f"{reader.name} stays apart from the user's kernel {writer.name}: {why.message}"
            loss, about = self._loss(writer, reader, why), _named(writer, reader)
            self.remarks.refused(self.name, why.rule, message, loss, **about, **why.numbers)

    def _loss(self, writer: Node, reader: Node, why: EpilogueRefused) -> Loss:
        """The reader's launch, and what it loads; its store, too, where no one else reads it."""
        users, values, saved = self.deps.users, self.deps.values, 0
        for value in set(reader.reads) & set(writer.results):
            size = stored_bytes(TensorSpec.of(values[value].type), self.hints)
            saved += size * (2 if set(users[value]) == {reader.index} else 1)
        if why.rule == "slower":
            return Loss(saved, 0.0)
        return loss_of(saved, self.hardware)

    def _report(self, kind: str, rule: str, message: str, about: _About, **numbers: Any) -> None:
        self.remarks.add(self.name, kind, rule, message, **about, **numbers)

    def _fuse(self, writer: Node, reader: Node) -> None:
        deps = self.deps
        assert writer.callee is not None and reader.callee is not None
        read = {a: writer.results.index(v) for a, v in enumerate(reader.operands) if v in writer.results}
        _require_fresh(deps, writer, reader, read)
        if writer.name not in self.writers:
            self.writers[writer.name] = UserWriter(writer.callee, self.facts)
        arguments = {a: writer.ties[r] for a, r in read.items()}
        kernel, known = Kernel.of(reader.callee), self.writers[writer.name]
        sites = plan_epilogue(known, kernel, arguments)
        ahead = _ahead(deps, writer, reader)
        gone = frozenset(r for r in read.values() if set(deps.users[writer.results[r]]) == {reader.index})
        self._require_gain(known, kernel, sites[0], {writer.ties[r] for r in gone})
        about = _named(writer, reader)
        for node in ahead:
            node.op.move_before(writer.op)
        calls = {writer.op, reader.op}
        try:
            Epilogue(self.program, self.facts, writer.op, reader.op, read, gone).merge(
                lambda: self._forget(calls)
            )
        except NoTileForm as error:
            raise EpilogueRefused("no-form", str(error)) from error
        message = f"{reader.name} is computed where the user's kernel {writer.name} stores its result"
        self._report("passed", "fused", message, about, stores_left=len(read) - len(gone))

    def _cut(self, writer: Node, reader: Node) -> bool:
        """Cuts a reader in two, if the first part is faster inside the user's kernel; whether it did."""
        assert writer.callee is not None and reader.callee is not None
        read = {a: writer.results.index(v) for a, v in enumerate(reader.operands) if v in writer.results}
        kernel, results = Kernel.of(reader.callee), set(read.values())
        cut = find_cut(kernel, read.keys())
        if cut is None or any(set(self.deps.users[writer.results[r]]) != {reader.index} for r in results):
            return False
        parts = split(self.program, reader.op, cut)
        try:
            first, second = (Kernel.of(self.program.callee(part)) for part in parts)
            values = {writer.op.results[r]: writer.ties[r] for r in results}
            arguments = {a: values[v] for a, v in enumerate(parts[0].operands) if v in values}
            known = self.writers[writer.name]
            site = plan_epilogue(known, first, arguments)[0]
            together, apart = self._estimated(known, first, site, set(arguments.values()))
            apart += lone_microseconds(kernel, self.hints, self.hardware)
            apart -= lone_microseconds(first, self.hints, self.hardware)
            if together + lone_microseconds(second, self.hints, self.hardware) >= apart:
                raise EpilogueRefused("slower", "its parts move no less memory than the whole")
        except EpilogueRefused:
            for part in reversed(parts):
                self.program.erase_call(part)
            return False
        self._forget({reader.op})
        message = f"{reader.name} is cut where it stores what the user's kernel can compute"
        about = _named(writer, reader)
        replace(self.program, reader.op, cut, parts)
        self._report("passed", "cut", message, about)
        return True

    def _require_gain(
        self, writer: UserWriter, reader: Kernel, site: EpilogueSite, gone: Iterable[int]
    ) -> None:
        """Raises EpilogueRefused where the estimate says that the reader is faster alone."""
        together, apart = self._estimated(writer, reader, site, gone)
        if not pays(together, apart, self.hardware):
            message = "its accesses would be spread over memory by the tiles of the user's kernel"
            numbers = {"us_together": round(together, 2), "us_apart": round(apart, 2)}
            raise EpilogueRefused("slower", message, **numbers)

    def _estimated(
        self, writer: UserWriter, reader: Kernel, site: EpilogueSite, gone: Iterable[int]
    ) -> tuple[float, float]:
        stored = [
            (writer.spec(argument), writer.coordinates(access, argument))
            for argument in gone
            for _, access in writer.stores(argument)[:1]
        ]
        return reader_microseconds(reader, site, stored, self.hints, self.hardware)

    def _forget(self, calls: set[ir.Operation]) -> None:
        """Another op may get the address of a call that is erased."""
        self.refused = {pair: why for pair, why in self.refused.items() if calls.isdisjoint(pair)}


def _named(writer: Node, reader: Node) -> _About:
    return {"ops": (writer.name, reader.name), "locations": (writer.location, reader.location)}


def pairs(deps: Dependences) -> Iterator[tuple[Node, Node]]:
    """The calls of a user's kernel and of a scalar kernel that reads what it makes, in program order."""
    for node in deps.nodes:
        if node.kind != "kernel" or node.callee is None or not takes_others(node.callee):
            continue
        readers = {user for value in node.results for user in deps.users[value]}
        for user in sorted(readers):
            reader = deps.nodes[user]
            scalar = reader.callee is not None and is_kernel(reader.callee) and not is_tiled(reader.callee)
            if scalar and set(reader.reads) & set(node.results):
                yield node, reader


def _require_fresh(deps: Dependences, writer: Node, reader: Node, read: dict[int, int]) -> None:
    """What is read was empty before, and so was what the reader writes to."""
    for result in read.values():
        empty = writer.destinations[result]
        if not _is_empty(deps, empty):
            raise EpilogueRefused("not-empty", "what the user's kernel writes held something before")
    if set(reader.destinations) & set(writer.results) or not all(
        _is_empty(deps, d) for d in reader.destinations
    ):
        raise EpilogueRefused("destination", "it writes into memory that holds something")
    devices = {
        TensorSpec.of(deps.values[v].type).device for v in (*reader.destinations, *writer.destinations)
    }
    if len(devices) > 1:
        raise EpilogueRefused("device", "it runs on another device")


def _is_empty(deps: Dependences, value: int) -> bool:
    """Whether a value is empty memory that one call alone takes."""
    return defining_op(deps.values[value], fuse.Empty) is not None and len(list(deps.values[value].uses)) == 1


def _ahead(deps: Dependences, writer: Node, reader: Node) -> list[Node]:
    """The operations between the two that the reader depends on, which must move in front of the writer."""
    needed: set[int] = {reader.index}
    found = []
    before = deps.predecessors()
    for node in reversed(deps.nodes[writer.index + 1 : reader.index + 1]):
        if node.index not in needed:
            continue
        if node is not reader:
            found.append(node)
            if writer.index in before[node.index]:
                raise EpilogueRefused(
                    "order", f"{node.name} must run after the user's kernel and before it", between=node.name
                )
        needed.update(before[node.index])
    return found[::-1]
