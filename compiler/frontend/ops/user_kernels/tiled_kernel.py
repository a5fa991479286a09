"""A user's launch as a tiled kernel of the module.

The kernel's arguments are the tensors that the launch takes, then the sizes and the numbers.  The body is the
TTIR of the function: a pointer parameter is ``fuse.base`` of a tensor, an integer that only a call knows is a
size, a number that the import knows is a constant.  The results are the tensors that it writes.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from ....analysis.user_kernel.effects import kernel_effects
from ....base.dataclass import dataclass
from ....base.errors import UserKernelGrid, UserKernelRefused
from ....base.ttir_function import TtirFunction
from ....fx.user_kernels import Opaque, UserLaunch, is_multiple, is_narrow
from ....index import Expr
from ....ir.dialects import tt
from ....ir.dialects.tt import Ptr
from ....ir.dialects.tt_text import mirror_name
from ....ir.dialects.tt_types import block_of
from ....mlir import arith, ir
from ....verifier.verify_tiled import is_tile_code
from ...importer.call import Call
from ...importer.values import Number, Tensor
from ...user_kernels.argument_kinds import DescriptorKind, NumberKind, described
from ...user_kernels.given_ttir import TtirTextError, parsed_ttir
from ...user_kernels.ttir_of import KernelTtir, UserKernelError, ttir_of
from .early_returns import make_one_block
from .ttir_arguments import require_types


@dataclass(frozen=True)
class KernelArguments:
    """The arguments of a kernel: tensors, sizes by their names, numbers; ``operands`` are their values."""

    tensors: Mapping[ir.Value, Tensor]
    sizes: Sequence[str]
    numbers: Mapping[ir.Value, Number]
    operands: Sequence[ir.Value]


class TiledKernel:
    """The kernel of one launch in one configuration.  ``given``: parameter -> its value in the import.
    ``apart``: tensors that nothing is fused with.
    """

    def __init__(
        self, call: Call, launch: UserLaunch, given: Mapping[str, Any], apart: Collection[Tensor]
    ) -> None:
        self.call, self.launch, self.given = call, launch, dict(given)
        self.apart = {tensor.value for tensor in apart}
        self.builder = call.builder
        self.tensors: dict[ir.Value, Tensor] = {}
        self.numbers: dict[ir.Value, Number] = {}
        self.names: dict[Expr, str] = {}  #: of the sizes that the body computes with
        self.grid = [self._extent(e) for e in launch.grid]
        for name in launch.descriptors:  # what Triton passes after a descriptor
            spec = self.given[name].spec
            self.given |= {f"{name}.shape{n}": e for n, e in enumerate(spec.sizes)}
            self.given |= {f"{name}.stride{n}": e for n, e in enumerate(spec.strides)}
        self.function, self.parameters = self._parsed()

    def take(self) -> None:
        """Reads which tensors, sizes and numbers the parameters are."""
        for name in self.parameters:
            self._take(self.given[name])

    def add(self, taken: KernelArguments, destinations: Sequence[Tensor], effect: bool) -> ir.Operation:
        """Adds the kernel, a function of the arguments of ``taken``.  ``effect``: it must run though
        nobody reads what it writes.
        """
        builder, location = self.builder, self.call.location
        operands = taken.operands
        name = builder.unique(self.launch.name)
        kernel = builder.function(name, location)
        types = [v.type for v in operands]
        block = kernel.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
        arguments = dict(zip(operands, block.arguments, strict=True))
        self._fill(block, arguments)
        ties = [operands.index(d.value) for d in destinations]
        results = [types[tie] for tie in ties]
        with ir.InsertionPoint(block), location:
            ir.Operation.create("func.return", operands=[block.arguments[tie] for tie in ties])
        self._describe(kernel, taken, ties, builder.function_type(types, results))
        if effect or not ties:
            kernel.attributes["fuse.effect"] = builder.unit
        return kernel

    def _take(self, value: Any) -> None:
        if isinstance(value, Tensor):
            self.tensors.setdefault(value.value, value)
        elif isinstance(value, Number):
            self.numbers.setdefault(value.value, value)
        elif isinstance(value, Expr) and value.constant is None:
            self.names[value] = self.call.symbols.name(value, self.call.location)

    def _describe(
        self, kernel: ir.Operation, taken: KernelArguments, ties: Sequence[int], type_: ir.Attribute
    ) -> None:
        builder, launch, sizes = self.builder, self.launch, taken.sizes
        with builder.context:
            plain = ir.DictAttr.get({})
            multiples = {n for e, n in self.names.items() if e.mod(16).constant == 0} | self._multiples()
            named = [
                ir.DictAttr.get(
                    {
                        "fuse.sym": builder.string(n),
                        **builder.symbol_attributes[n],
                        **({"fuse.multiple": builder.int64(16)} if n in multiples else {}),
                    }
                )
                for n in sizes
            ]
            tile = {
                "axes": ir.ArrayAttr.get([]),
                "num_stages": builder.int64(launch.num_stages),
                "num_warps": builder.int64(launch.num_warps),
            }
            attributes: dict[str, ir.Attribute] = {
                "function_type": type_,
                "fuse.kernel": builder.unit,
                "fuse.dims": plain,
                "fuse.grid": builder.strings(self.grid),
                "fuse.ties": builder.int64s(ties),
                "fuse.tile": ir.DictAttr.get(tile),
                "fuse.user": builder.string("{}:{} {}".format(*launch.line, launch.name)),
            }
            if sizes or self.apart:
                apart = ir.DictAttr.get({"fuse.apart": builder.unit})
                tensors = [apart if value in self.apart else plain for value in taken.tensors]
                attributes["arg_attrs"] = ir.ArrayAttr.get(tensors + named + [plain] * len(taken.numbers))
            for key, attribute in attributes.items():
                kernel.attributes[key] = attribute

    def _multiples(self) -> set[str]:
        """The names of the sizes that 16 divides by a guard."""
        return {
            self.names[value]
            for param in self.launch.function.params
            if isinstance(value := self.given[param.name], Expr)
            and value in self.names
            and not (param.do_not_specialize or param.do_not_specialize_on_alignment)
            and is_multiple(self.launch.given[param.name])
        }

    def _fill(self, block: ir.Block, arguments: Mapping[ir.Value, ir.Value]) -> None:
        """Moves the body into ``block``: a parameter becomes what the argument or the constant is in it."""
        source = self.function.regions[0].blocks[0]
        bases: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint(block), self.call.location:
            for parameter, name in zip(source.arguments, self.parameters, strict=True):
                value = self._parameter(self.given[name], parameter.type, arguments, bases)
                if name in self.launch.descriptors:
                    value = self._descriptor(name, value, parameter.type, arguments)
                parameter.replace_all_uses_with(value)
        for op in list(source.operations):
            if not isinstance(op, tt.Return):
                block.append(op.operation)

    def _parameter(
        self,
        value: Any,
        type_: ir.Type,
        arguments: Mapping[ir.Value, ir.Value],
        bases: dict[ir.Value, ir.Value],
    ) -> ir.Value:
        """What a parameter of type ``type_`` is in the kernel."""
        if isinstance(value, Tensor):
            block = block_of(type_)
            if block is not None:
                type_ = Ptr.get(ir.TypeAttr.get(_signless(block.element_type)))
            if value.value not in bases:
                bases[value.value] = _made("fuse.base", type_, arguments[value.value])
            return bases[value.value]
        if isinstance(value, Number):
            number = arguments[value.value]
            return number if number.type == type_ else _made("arith.truncf", type_, number)
        if isinstance(value, Expr) and value.constant is None:
            size = self.builder.values([self.names[value]])[0]
            return _made("arith.index_cast", type_, arguments[size])
        plain: Any = value.constant if isinstance(value, Expr) else value
        if isinstance(type_, ir.IntegerType):
            bits = type_.width
            plain = int(plain) & (2**bits - 1)
            plain -= 2**bits if bits > 1 and plain >> (bits - 1) else 0
            return arith.constant(type_, plain)
        return arith.constant(type_, float(plain))

    def _descriptor(
        self, name: str, base: ir.Value, type_: ir.Type, arguments: Mapping[ir.Value, ir.Value]
    ) -> ir.Value:
        """A descriptor of a whole tensor, made in the kernel, for one that the host would have made."""
        rank = len(self.launch.descriptors[name])
        operands = [base]
        for part, bits in (("shape", 32), ("stride", 64)):
            integer = ir.IntegerType.get_signless(bits)
            operands += [
                self._parameter(self.given[f"{name}.{part}{n}"], integer, arguments, {}) for n in range(rank)
            ]
        zeros = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
        return ir.Operation.create(
            mirror_name("tt.make_tensor_descriptor", len(operands)),
            results=[type_],
            operands=operands,
            attributes={"padding": zeros},
        ).result

    def _extent(self, extent: Any) -> Expr:
        value = self.call.resolve(extent)
        if isinstance(value, bool) or not isinstance(value, (int, Expr)):
            kind = value.dtype if isinstance(value, Number) else type(value).__name__
            raise UserKernelGrid(
                kernel=self.launch.name,
                where="{}:{}".format(*self.launch.line),
                extent=value if isinstance(value, (bool, float)) else f"a {kind}",
            )
        return self.call.expr(value)

    def _parsed(self) -> tuple[ir.Operation, tuple[str, ...]]:
        """The ``tt.func``, and the names of its parameters.  Raises Opaque, UserKernelRefused."""
        launch = self.launch
        ttir = self._ttir()
        try:
            self._module = ir.Module.parse(ttir.text, self.builder.context)  # owns the function
        except ir.MLIRError as error:
            said = error.error_diagnostics[0].message if error.error_diagnostics else str(error)
            raise Opaque(said) from error
        self.text = ttir.text
        functions = [op.operation for op in self._module.body.operations]
        if len(functions) != 1:
            raise Opaque("it calls functions that are not inlined")
        make_one_block(functions[0])
        if isinstance(launch.function, TtirFunction):
            require_types(launch, functions[0], self.given)
        _require_tile_code(functions[0])
        self.effects = kernel_effects(functions[0])
        self._require_known_writes(ttir.arguments)
        return functions[0], ttir.arguments

    def _ttir(self) -> KernelTtir:
        """Raises Opaque, UserKernelRefused."""
        launch, capability = self.launch, self.call.state.capability
        if isinstance(launch.function, TtirFunction):
            try:
                return parsed_ttir(launch.function, capability=capability)
            except TtirTextError as error:
                where = "its TTIR" if error.line is None else f"line {error.line} of its TTIR"
                raise UserKernelRefused(kernel=launch.name, where=where, reason=error.reason) from error
        arguments = {name: self._described(name, self.given[name]) for name in launch.given}
        options = {"num_warps": launch.num_warps, "num_stages": launch.num_stages}
        try:
            return ttir_of(launch.function, {**arguments, **options}, capability=capability)
        except UserKernelError as error:
            raise refusal(launch, error) from error

    def _require_known_writes(self, parameters: Sequence[str]) -> None:
        """Raises Opaque where the kernel writes a tensor that the graph takes to be only read."""
        for name, effects in zip(parameters, self.effects.arguments, strict=True):
            if effects is not None and effects.written and name not in (self.launch.written or ()):
                raise Opaque(f"it may write to '{name}', which the graph takes to be only read")

    def _described(self, name: str, value: Any) -> Any:
        """What Triton's front end is told of an argument; a plain value is itself."""
        if isinstance(value, Tensor):
            pointer = described(value.fake)
            if name not in self.launch.descriptors:
                return pointer
            return DescriptorKind(pointer.dtype, self.launch.descriptors[name])
        if isinstance(value, Expr):
            if value.constant is not None:
                return value.constant
            return NumberKind("i32" if is_narrow(self.launch.given[name]) else "i64")
        if isinstance(value, Number):
            if value.dtype != torch.float64:
                raise Opaque(f"its argument '{name}' is a number of {value.dtype}")
            return NumberKind("fp32")
        return value


def refusal(launch: UserLaunch, error: UserKernelError) -> Exception:
    """What to raise where Triton's front end gives up: UserKernelRefused, with the kernel's own line, where
    the kernel is wrong, and Opaque where it is not known who is.
    """
    outer: Any = error.__cause__
    inner = outer
    if not hasattr(outer, "error_message"):
        return Opaque(str(error))
    while hasattr(inner.__cause__, "error_message"):  # an error in a function that the kernel calls
        inner = inner.__cause__
    why = getattr(inner, "error_message", None) or inner.__cause__ or type(inner).__name__
    file, _ = launch.line
    where = f"{file}:{launch.line_of(outer)}"
    return UserKernelRefused(kernel=launch.name, where=where, reason=" ".join(str(why).split()))


def _signless(type_: ir.Type) -> ir.Type:
    """The type of elements in memory; descriptors have ``si32`` and ``ui32``."""
    return ir.IntegerType.get_signless(type_.width) if isinstance(type_, ir.IntegerType) else type_


def _made(name: str, type_: ir.Type, operand: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[type_], operands=[operand]).result


def _require_tile_code(function: ir.Operation) -> None:
    """Raises Opaque for an op that tile code does not have, and for what the launcher cannot serve."""

    names: dict[str, None] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        names[op.name] = None
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    for name in names:
        if not is_tile_code(name):
            raise Opaque(f"the op {name} is not known")
