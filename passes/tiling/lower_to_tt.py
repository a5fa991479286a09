"""``lower-to-tt``: tiled kernels become launches of ``tt.func``s.

The body of each tiled kernel moves into a ``tt.func`` beside it, whose parameters are what the GPU gets: an
address for each tensor, an i32 or i64 for each size (i32 if the body only uses it as i32), scalars as they
are.  Tokens and arguments that the body does not use are not passed.  The kernel function becomes a
declaration that says how to launch it; ``fuse.params`` says which of its arguments is which parameter.

Before::

    func.func private @k(%x: tensor<64xf32>, %o: tensor<64xf32>, %s0: index {fuse.sym = "s0"})
        -> tensor<64xf32>
        attributes {fuse.kernel, fuse.grid = ["s0"], fuse.ties = array<i64: 1>,
                    fuse.tile = {.., num_warps = 4 : i64}} {
      %p = "fuse.base"(%x) : (tensor<64xf32>) -> !tt.ptr<f32>
      ...
      return %o : tensor<64xf32>
    }

After::

    func.func private @k(tensor<64xf32>, tensor<64xf32>, index) -> tensor<64xf32>
        attributes {fuse.grid = ["s0"], fuse.launch = @k_tt, fuse.params = ["0:ptr", "1:ptr", "2:i32"],
                    fuse.tile = {.., num_warps = 4 : i64}, ...}
    "tt.func"() ({^bb0(%x: !tt.ptr<f32>, %o: !tt.ptr<f32>, %s0: i32): ... "tt.return"() }) {sym_name = "k_tt",
    ...}

The pass decides ``tt.divisibility``, what Triton may assume of an address: a multiple of 16 bytes where that
is known, of fewer for narrow elements beside wide ones and for elements that are masked one by one
(``passes/tiling/promises.py``).  Nothing is known of what an op of torch's laid into a storage at a place
of its own, such as ``as_strided``.  ``fuse.base_of`` becomes a load of an address, by number, from the
parameters of the launch in constant memory.

A function that multiplies tiles gets LLVM's attribute ``noimplicitfloat``, with which LLVM does not look for
scalars to put into vectors.  The search takes up to a third of such a kernel's compile time, as its code is
long, and finds nothing.  Other functions do not get it: what unpacks 4-bit weights takes 9% longer without
vectors.  Nor does a user's kernel, which was tuned without it.

A loop of two to eight steps around such a product gets the annotation that it stays a loop.  ptxas would
write its steps out, which takes two to three times as long and gains nothing.

What is one instruction of the GPU is a call of LLVM's intrinsic (``passes/tiling/intrinsics.py``):
``math.rsqrt``, ``math.exp2``, ``math.floor`` and ``math.ceil`` of f32, and libdevice's ``__nv_exp2f``,
``__nv_rsqrtf``, ``__nv_copysignf`` and ``__nv_fast_fdividef``.  For any other function of libdevice Triton
parses the whole library.

It does not fire on kernels that are not tiled, nor on declarations.

Raises PassError:
``lower-to-tt: the sources of fuse.base_of must be consecutive, behind other tensors only``,
``lower-to-tt: argument 0 of a tiled kernel is used as a tensor``,
``lower-to-tt: size argument 1 of a tiled kernel is used without arith.index_cast``.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.codegen.nvidia import TableText, parameter_text
from ...compiler.ir.dialects import tt
from ...compiler.ir.kernel import argument_attributes, is_kernel, is_tiled, string
from ...compiler.mlir import arith, func, ir
from ..pass_base import Pass, PassError
from .intrinsics import call_intrinsic, intrinsic_of
from .promises import Promises, arguments_anywhere

#: Attributes of the kernel that the launch keeps.
_KEPT = (
    "fuse.configs", "fuse.dims", "fuse.effect", "fuse.grid", "fuse.part", "fuse.ties", "fuse.tile",
    "fuse.traffic", "fuse.tuned_by", "fuse.user",
)  # fmt: skip

#: Steps of the loops around products that ptxas writes out: seen in SASS, with CUDA 12.8.
_WRITTEN_OUT = range(2, 9)

#: Ops that have segment sizes in the mirror and none in Triton.
_WITHOUT_SEGMENTS = ("tt.store", "tt.atomic_rmw", "tt.elementwise_inline_asm")


@dataclass(frozen=True)
class LowerToTt(Pass):
    """Moves tile code into ``tt.func``s and turns kernels into launch declarations."""

    name: ClassVar[str] = "lower-to-tt"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        anywhere = arguments_anywhere(module)
        for op in list(module.body.operations):
            if is_kernel(op) and is_tiled(op):
                _lower(op.operation, anywhere.get(string(op.attributes["sym_name"]), frozenset()))


def _lower(kernel: ir.Operation, anywhere: Collection[int]) -> None:
    block = kernel.regions[0].blocks[0]
    name = ir.StringAttr(kernel.attributes["sym_name"]).value
    arguments = list(block.arguments)
    parameters: list[str] = []
    types: list[ir.Type] = []
    attributes: list[ir.Attribute] = []
    promises = Promises(block, anywhere)
    for number, argument in enumerate(arguments):
        passed = _passed(kernel, argument, promises)
        if passed is None:
            continue
        kind, type_, attribute = passed
        parameters.append(f"{number}:{kind}")
        types.append(type_)
        attributes.append(attribute)
    with ir.InsertionPoint(kernel), kernel.location:
        function = tt.Func(
            ir.StringAttr.get(f"{name}_tt"),
            ir.StringAttr.get("public"),
            ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        ).operation
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
        entry = function.regions[0].blocks.append(*types, arg_locs=[kernel.location] * len(types))
    for op in _tables(arguments):
        _read_parameter(op, f"{name}_tt", parameters, promises)
    for number, parameter in enumerate(parameters):
        _name_tables(arguments[int(parameter.split(":")[0])], f"{name}_tt_param_{number}")
        _substitute(arguments[int(parameter.split(":")[0])], entry.arguments[number])
    for op in list(block.operations):
        if isinstance(op, func.ReturnOp):
            with ir.InsertionPoint(entry), op.operation.location:
                tt.Return()
            op.operation.erase()
        else:
            entry.append(op.operation)
    products = _spell(function)
    if products and "fuse.user" not in kernel.attributes:
        with kernel.context:
            _shorten_compilation(function, products)
    _declare(kernel, name, parameters)


def _shorten_compilation(function: ir.Operation, products: list[ir.Operation]) -> None:
    """Says what LLVM and ptxas need not try in a function that multiplies tiles."""
    function.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("noimplicitfloat")])
    # Opaque here, as a parsed one would load the bindings of LLVM's dialect: 50 ms.
    stays = ir.OpaqueAttr.get("llvm", b"loop_annotation<unroll = <disable = true>>", ir.NoneType.get())
    for product in products:
        loop = product.parent
        if loop.name == "scf.for" and _steps(loop) in _WRITTEN_OUT:
            loop.attributes["llvm.loop_annotation"] = stays


def _steps(loop: ir.Operation) -> int | None:
    """How many steps an ``scf.for`` takes.  None where its bounds are no constants."""
    bounds = [value.owner for value in list(loop.operands)[:3]]
    if any(isinstance(op, ir.Block) or not isinstance(op, arith.ConstantOp) for op in bounds):
        return None
    return len(range(*(op.operation.attributes["value"].value for op in bounds)))


def _spell(function: ir.Operation) -> list[ir.Operation]:
    """Ops as Triton has them.  Those with a single optional or variadic operand carry no
    ``operandSegmentSizes`` there.  Returns those that multiply tiles.
    """
    calls: list[tuple[ir.Operation, str]] = []
    products: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        op = op.operation
        if op.name == "tt.dot":
            products.append(op)
        if op.name in _WITHOUT_SEGMENTS and "operandSegmentSizes" in op.attributes:
            del op.attributes["operandSegmentSizes"]
        intrinsic = intrinsic_of(op)
        if intrinsic is not None:
            calls.append((op, intrinsic))
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    for op, intrinsic in calls:
        call_intrinsic(op, intrinsic)
    return products


def _tables(arguments: list[ir.Value]) -> list[ir.Operation]:
    """Every ``fuse.base_of``, by its first source."""
    found: dict[ir.Operation, None] = {}
    for argument in arguments:
        if isinstance(argument.type, ir.RankedTensorType):
            users = [use.owner.operation for use in argument.uses]
            found.update(dict.fromkeys(u for u in users if u.name == "fuse.base_of"))
    return list(found)


def _name_tables(argument: ir.Value, parameter: str) -> None:
    """What looks up a table at an address that is a parameter names it in the PTX (``TableText``)."""
    bases = [u.owner.operation for u in argument.uses if u.owner.operation.name == "fuse.base"]
    splats = [u.owner.operation for base in bases for u in base.results[0].uses]
    readers = {u.owner.operation: s for s in splats if s.name == "tt.splat" for u in s.results[0].uses}
    for op, splat in readers.items():
        found = "asm_string" in op.attributes and TableText.read(string(op.attributes["asm_string"]))
        if not found:
            continue
        how = replace(found, parameter=parameter)
        with ir.InsertionPoint(op), op.location:
            named = tt.ElementwiseInlineAsm(
                [op.operands[1]],
                asm_string=ir.StringAttr.get(how.text),
                constraints=ir.StringAttr.get(how.constraints),
                packed_element=op.attributes["packed_element"],
                pure=op.attributes["pure"],
                result=op.results[0].type,
            ).operation
        op.results[0].replace_all_uses_with(named.results[0])
        op.erase()
        if not list(splat.results[0].uses):
            splat.erase()


def _read_parameter(op: ir.Operation, kernel: str, parameters: list[str], promises: Promises) -> None:
    """``fuse.base_of`` reads the address from the parameters by position."""
    numbers = [int(p.split(":")[0]) for p in parameters]
    sources = [ir.BlockArgument(v).arg_number for v in list(op.operands)[1:]]
    first = numbers.index(sources[0])
    if numbers[first : first + len(sources)] != sources or any(
        not p.endswith(":ptr") for p in parameters[: first + len(sources)]
    ):
        raise PassError(
            "lower-to-tt: the sources of fuse.base_of must be consecutive, behind other tensors only",
            op.location,
        )
    i64 = ir.IntegerType.get_signless(64)
    with ir.InsertionPoint(op), op.location:
        address = tt.ElementwiseInlineAsm(
            [op.operands[0]],
            asm_string=ir.StringAttr.get(parameter_text(kernel, first)),
            constraints=ir.StringAttr.get("=l,r"),
            packed_element=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1),
            pure=ir.BoolAttr.get(True),
            result=i64,
        ).operation
        pointer = tt.IntToPtr(address.results[0], result=op.results[0].type).operation
        if all(promises.is_aligned(source) for source in list(op.operands)[1:]):
            i32 = ir.RankedTensorType.get([1], ir.IntegerType.get_signless(32))
            pointer.attributes["tt.divisibility"] = ir.Attribute.parse(f"dense<16> : {i32}")
    op.results[0].replace_all_uses_with(pointer.results[0])
    op.erase()


def _passed(
    kernel: ir.Operation, argument: ir.Value, promises: Promises
) -> tuple[str, ir.Type, ir.Attribute] | None:
    """How an argument reaches the GPU: its kind, its type there and its attributes; None when the body does
    not use it.
    """
    users = [use.owner.operation for use in argument.uses]
    empty = ir.DictAttr.get({})
    if isinstance(argument.type, ir.RankedTensorType):
        bases = [u for u in users if u.name in ("fuse.base", "fuse.base_of")]
        if any(u.name not in ("fuse.base", "fuse.base_of", "func.return") for u in users):
            raise PassError(
                f"lower-to-tt: argument {argument.arg_number} of a tiled kernel is used as a tensor",
                kernel.location,
            )
        if not bases:
            return None
        return "ptr", bases[0].results[0].type, _divisible(promises.bytes_of(argument))
    if isinstance(argument.type, ir.IndexType):
        if any(u.name != "arith.index_cast" for u in users):
            raise PassError(
                f"lower-to-tt: size argument {argument.arg_number} of a tiled kernel is used "
                "without arith.index_cast",
                kernel.location,
            )
        if not users:
            return None
        widths = {str(u.results[0].type) for u in users}
        kind = "i64" if "i64" in widths else "i32"
        return kind, ir.Type.parse(kind), _multiple(kernel, argument.arg_number)
    if str(argument.type) == "!fuse.token" or not users:
        return None
    return str(argument.type), argument.type, empty


def _divisible(promised: int) -> ir.DictAttr:
    """What Triton is told of an address or a size; nothing of 1."""
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), promised)
    return ir.DictAttr.get({"tt.divisibility": number} if promised > 1 else {})


def _multiple(kernel: ir.Operation, number: int) -> ir.Attribute:
    """A size that is known to be a multiple (``fuse.multiple``) says so to Triton."""
    known = argument_attributes(kernel)[number].get("fuse.multiple")
    aligned = known is not None and ir.IntegerAttr(known).value % 16 == 0
    return _divisible(16 if aligned else 1)


def _substitute(old: ir.Value, new: ir.Value) -> None:
    """``fuse.base`` and ``arith.index_cast`` of the old argument become the new one (narrowed where the body
    wants i32).
    """
    users = {use.owner.operation for use in old.uses}
    for user in sorted(users, key=lambda op: 0 if op.name == "fuse.base" else 1):
        if user.name not in ("fuse.base", "arith.index_cast"):
            continue
        result = user.results[0]
        if result.type == new.type:
            result.replace_all_uses_with(new)
        else:
            with ir.InsertionPoint(user), user.location:
                narrowed = ir.Operation.create("arith.trunci", results=[result.type], operands=[new])
            result.replace_all_uses_with(narrowed.results[0])
        user.erase()
    if not isinstance(old.type, ir.RankedTensorType | ir.IndexType):
        old.replace_all_uses_with(new)


def _declare(kernel: ir.Operation, name: str, parameters: list[str]) -> None:
    """Replaces the kernel by a declaration of the same type that says how to launch ``@<name>_tt``."""
    with ir.InsertionPoint(kernel), kernel.location:
        type_ = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
        declaration = func.FuncOp(name, type_, visibility="private").operation
    for attribute in (*_KEPT, "arg_attrs", "res_attrs"):
        if attribute in kernel.attributes:
            declaration.attributes[attribute] = kernel.attributes[attribute]
    declaration.attributes["fuse.launch"] = ir.FlatSymbolRefAttr.get(f"{name}_tt")
    declaration.attributes["fuse.params"] = ir.ArrayAttr.get([ir.StringAttr.get(p) for p in parameters])
    kernel.erase()
