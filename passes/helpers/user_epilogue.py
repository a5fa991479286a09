"""A user's kernel with a scalar kernel computed where it stores: the new function and its call.

Not a pass: ``fuse-user-epilogues`` decides what is computed where.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...compiler.analysis.fusion.user_epilogues import EpilogueSite, plan_epilogue
from ...compiler.analysis.fusion.user_writer import UserWriter
from ...compiler.codegen.user_kernels.scalar_body import Place, ScalarBody
from ...compiler.index import Facts
from ...compiler.ir.dialects import tt
from ...compiler.ir.kernel import Kernel, argument_attributes, kernel_ties, named_sizes, string
from ...compiler.ir.layout import TensorSpec, memory_element
from ...compiler.mlir import ir
from .names import listed
from .program import Program
from .user_kernels import base_of, remove_dead


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
        program, old = self.program, self.program.callee(self.writer)
        reader = Kernel.of(program.callee(self.reader))
        func = program.copy(old)
        try:
            operands, arguments = self._take_arguments(func, reader)
            self._emit(func, reader, arguments)
        except Exception:
            program.discard(func)
            raise
        ties = self._finish(func, reader, arguments)
        erasing()
        return self._call(func, reader, operands, ties)

    # --- arguments ------------------------------------------------------------------------------------------
    def _take_arguments(
        self, func: ir.Operation, reader: Kernel
    ) -> tuple[list[ir.Value], dict[int, ir.Value]]:
        """Adds the reader's arguments to those of ``func``.  Returns the operands of the new call, and what
        each argument of the reader is in ``func``.
        """
        block, attributes = func.regions[0].blocks[0], argument_attributes(func)
        operands = list(self.writer.operands)
        theirs = argument_attributes(reader.func)
        arguments: dict[int, ir.Value] = {}
        for number, (operand, named) in enumerate(zip(self.reader.operands, theirs, strict=True)):
            if number in self.read:
                continue
            if operand not in operands:
                operands.append(operand)
                block.add_argument(operand.type, func.location)
                attributes.append(named)
            arguments[number] = block.arguments[operands.index(operand)]
        _set_attributes(func, attributes)
        return operands, arguments

    def _emit(self, func: ir.Operation, reader: Kernel, arguments: Mapping[int, ir.Value]) -> None:
        ties = kernel_ties(func)
        writer = UserWriter(func, self.facts)
        sites = plan_epilogue(writer, reader, {a: ties[result] for a, result in self.read.items()})
        bases = _bases(func, reader, arguments)
        own = list(func.regions[0].blocks[0].arguments)
        sizes = {name: own[position] for name, position in named_sizes(func).items()}
        others = {
            reader.arguments[number]: value
            for number, value in arguments.items()
            if not isinstance(value.type, ir.RankedTensorType)
        }
        for site in sites:
            with ir.InsertionPoint(site.before), func.location:
                _compute(site, writer, reader, bases, sizes, others)

    # --- results --------------------------------------------------------------------------------------------
    def _finish(self, func: ir.Operation, reader: Kernel, arguments: Mapping[int, ir.Value]) -> list[int]:
        """Drops what nothing reads any more, and returns what is left and what the reader stores."""
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
        remove_dead(self.program, func)
        return [ir.BlockArgument(value).arg_number for value in kept]

    def _call(
        self, func: ir.Operation, reader: Kernel, operands: list[ir.Value], ties: list[int]
    ) -> ir.Operation:
        program, block = self.program, func.regions[0].blocks[0]
        attributes = argument_attributes(func)
        for number in reversed(range(len(operands))):
            unused = number not in ties and not list(block.arguments[number].uses)
            if unused and isinstance(operands[number].type, ir.RankedTensorType):
                block.erase_argument(number)
                del operands[number], attributes[number]
                ties = [tie - (tie > number) for tie in ties]
        results = [operands[tie].type for tie in ties]
        inputs = [argument.type for argument in block.arguments]
        func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
        func.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get(ties)
        _set_attributes(func, attributes)
        func.location = ir.Location.fused([self.writer.location, self.reader.location])
        new = program.recall(self.writer, func, operands, results)
        new.location = func.location
        names = (string(program.callee(call).attributes["sym_name"]) for call in (self.writer, self.reader))
        program.rename(func, new, program.unique_name(listed(names).removeprefix("_")))
        kept = [r for number, r in enumerate(self.writer.results) if number not in self.gone]
        for old, result in zip((*kept, *self.reader.results), new.results, strict=True):
            old.replace_all_uses_with(result)
        empties = [self.writer.operands[tie].owner for tie in kernel_ties(program.callee(self.writer))]
        program.erase_call(self.reader)
        program.erase_call(self.writer)
        for empty in empties:
            if not isinstance(empty, ir.Block) and not any(list(r.uses) for r in empty.operation.results):
                empty.operation.erase()
        return new


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


def _bases(func: ir.Operation, reader: Kernel, arguments: Mapping[int, ir.Value]) -> dict[int, ir.Value]:
    """The address of each tensor that the reader reads or writes, taken at the start of ``func``."""
    found: dict[int, ir.Value] = {}
    with ir.InsertionPoint.at_block_begin(func.regions[0].blocks[0]), func.location:
        for access in (*reader.loads, *reader.stores):
            number = access.argument
            if number in found or number not in arguments:
                continue
            argument = arguments[number]
            element = ir.Type.parse(memory_element(TensorSpec.of(argument.type).element))
            pointer = tt.Ptr.get(ir.TypeAttr.get(element))
            found[number] = base_of(argument, pointer)
    return found


def _set_attributes(func: ir.Operation, attributes: Sequence[Mapping[str, ir.Attribute]]) -> None:
    if any(attributes):
        func.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(dict(a)) for a in attributes])
