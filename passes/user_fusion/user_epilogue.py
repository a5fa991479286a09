"""A user's kernel with a scalar kernel computed where it stores: the new function and its call.

Not a pass: ``fuse-user-epilogues`` decides what is computed where.
"""

from collections.abc import Callable, Mapping

from ...compiler.analysis.user_fusion.user_epilogues import EpilogueSite, plan_epilogue
from ...compiler.analysis.user_fusion.user_writer import UserWriter
from ...compiler.base.dataclass import dataclass
from ...compiler.codegen.user_fusion.scalar_body import Place, ScalarBody
from ...compiler.index import Facts
from ...compiler.ir.dialects import tt
from ...compiler.ir.kernel import Kernel, argument_attributes, kernel_ties, string
from ...compiler.ir.layout import TensorSpec, memory_element
from ...compiler.mlir import ir
from ..base.names import listed
from ..base.program import Program
from .user_kernels import UsersKernel


@dataclass
class Epilogue:
    """The calls ``writer`` and ``reader``, of which the second becomes a part of the first.

    read: arguments of the reader's kernel -> the writer's results that they are.  gone: results of the writer
    that nothing else needs.
    """

    program: Program
    facts: Facts
    writer: ir.Operation
    reader: ir.Operation
    read: Mapping[int, int]
    gone: frozenset[int]

    def merge(self, erasing: Callable[[], None]) -> ir.Operation:
        """Makes the new kernel and its call in front of the writer's.  Calls ``erasing``, and erases both
        calls.  Raises NoTileForm, and then leaves everything as it was.
        """
        program, written = self.program, self.program.callee(self.writer)
        reader = Kernel.of(program.callee(self.reader))
        kernel = UsersKernel(program, self.writer, program.copy(written))
        try:
            arguments = self._take_arguments(kernel, reader)
            self._emit(kernel, reader, arguments)
        except Exception:
            program.discard(kernel.kernel)
            raise
        self._return(kernel.kernel, reader, arguments)
        erasing()
        names = [string(function.attributes["sym_name"]) for function in (written, reader.func)]
        empties = [self.writer.operands[tie].owner for tie in kernel_ties(written)]
        kept = [result for number, result in enumerate(self.writer.results) if number not in self.gone]
        new = kernel.finish(
            [*kept, *self.reader.results],
            listed(names).removeprefix("_"),
            [self.writer.location, self.reader.location],
            readers=[self.reader],
        )
        for empty in empties:
            if not isinstance(empty, ir.Block) and not any(list(r.uses) for r in empty.operation.results):
                empty.operation.erase()
        return new

    def _take_arguments(self, kernel: UsersKernel, reader: Kernel) -> dict[int, ir.Value]:
        """Adds the reader's arguments to those of ``kernel``.  Returns what each of them is there."""
        given = zip(self.reader.operands, argument_attributes(reader.func), strict=True)
        return {
            number: kernel.argument(operand, attributes)
            for number, (operand, attributes) in enumerate(given)
            if number not in self.read
        }

    def _emit(self, kernel: UsersKernel, reader: Kernel, arguments: Mapping[int, ir.Value]) -> None:
        sizes, func = kernel.sizes(), kernel.kernel
        ties = kernel_ties(func)
        writer = UserWriter(func, self.facts)
        sites = plan_epilogue(writer, reader, {a: ties[result] for a, result in self.read.items()})
        bases = self._bases(kernel, reader, arguments)
        others = {
            reader.arguments[number]: value
            for number, value in arguments.items()
            if not isinstance(value.type, ir.RankedTensorType)
        }
        for site in sites:
            with ir.InsertionPoint(site.before), func.location:
                _compute(site, writer, reader, bases, sizes, others)

    def _bases(
        self, kernel: UsersKernel, reader: Kernel, arguments: Mapping[int, ir.Value]
    ) -> dict[int, ir.Value]:
        """The address of each tensor that the reader reads or writes, taken at the start of the kernel."""
        found: dict[int, ir.Value] = {}
        for access in (*reader.loads, *reader.stores):
            number = access.argument
            if number in found or number not in arguments:
                continue
            element = ir.Type.parse(memory_element(TensorSpec.of(arguments[number].type).element))
            pointer = tt.Ptr.get(ir.TypeAttr.get(element))
            found[number] = kernel.base(self.reader.operands[number], pointer)
        return found

    def _return(self, func: ir.Operation, reader: Kernel, arguments: Mapping[int, ir.Value]) -> None:
        """Drops the stores that nothing reads any more; returns what is left and what the reader stores."""
        block = func.regions[0].blocks[0]
        ties, end = kernel_ties(func), block.operations[len(block.operations) - 1].operation
        lost = [ties[result] for result in sorted(self.gone)]
        writer = UserWriter(func, self.facts)
        for op, access in writer.accesses.by_op.items():
            if access.kind == "write" and access.arguments and set(access.arguments) <= set(lost):
                op.erase()
        kept = [block.arguments[tie] for result, tie in enumerate(ties) if result not in self.gone]
        kept += [arguments[tie] for tie in reader.ties]
        with ir.InsertionPoint(end), end.location:
            ir.Operation.create("func.return", operands=kept)
        end.erase()


def _compute(
    site: EpilogueSite,
    writer: UserWriter,
    reader: Kernel,
    bases: Mapping[int, ir.Value],
    sizes: Mapping[str, ir.Value],
    others: Mapping[ir.Value, ir.Value],
) -> None:
    place = Place(
        site.coordinates,
        writer.accesses.integers,
        site.dims,
        bases,
        sizes,
        others,
        site.mask,
        site.outside,
        site.held,
    )
    body = ScalarBody(reader, place, site.known)
    for op, value in body.emit().items():
        body.store(op, value)
