"""What Triton compiles of a planned module: the TTIR of every launch, with its options and signature."""

from ..base.dataclass import dataclass
from ..ir.dialects import tt
from ..ir.dialects.tt_text import of_triton
from ..ir.kernel import INDEX_CHECK, attribute_items, string, strings
from ..ir.nesting import modules_in
from ..mlir import func, ir


@dataclass(frozen=True)
class KernelSource:
    """One kernel as Triton gets it.  ``signature``: "ptr", "i32", .. for each argument in order.
    ``product``: the kernel that has this tile, where tensor cores multiply its tiles; "" where they do not.
    """

    name: str
    text: str
    signature: tuple[str, ...]
    num_warps: int
    num_stages: int
    product: str = ""


def kernel_sources(module: ir.Module) -> dict[str, KernelSource]:
    """The sources of all launches, by the name of the launch declaration, in module order.  Those of a
    sub-graph follow; their names are the sub-graph's name, a dot, and the launch's name.
    """
    functions = {
        string(op.attributes["sym_name"]): op.operation
        for op in module.body.operations
        if isinstance(op, tt.Func)
    }
    sources: dict[str, KernelSource] = {}
    for op in module.body.operations:
        if not isinstance(op, func.FuncOp) or "fuse.launch" not in op.attributes:
            continue
        tile = dict(attribute_items(op.attributes["fuse.tile"])) if "fuse.tile" in op.attributes else {}
        target = ir.FlatSymbolRefAttr(op.attributes["fuse.launch"]).value
        name = string(op.attributes["sym_name"])
        own = name if _has_axes(tile) else ""  # other launches: combined ones, and users' kernels
        tiled = string(op.attributes["fuse.part"]) if "fuse.part" in op.attributes else own
        sources[name] = KernelSource(
            name=target,
            text=ttir_text(functions[target]),
            signature=tuple(p.split(":")[1] for p in strings(op.attributes["fuse.params"])),
            num_warps=_integer(tile, "num_warps", 4),
            num_stages=_integer(tile, "num_stages", 1),
            product=tiled if _multiplies(functions[target].regions[0]) else "",
        )
    for graph, nested in modules_in(module).items():
        sources |= {f"{graph}.{name}": source for name, source in kernel_sources(nested).items()}
    return sources


def _has_axes(tile: dict[str, ir.Attribute]) -> bool:
    return "axes" in tile and len(ir.ArrayAttr(tile["axes"])) > 0


def _multiplies(region: ir.Region) -> bool:
    """Whether an operation in a region multiplies tiles."""
    return any(
        isinstance(op, tt.Dot) or any(_multiplies(inner) for inner in op.operation.regions)
        for block in region.blocks
        for op in block.operations
    )


def _integer(tile: dict[str, ir.Attribute], name: str, default: int) -> int:
    return ir.IntegerAttr(tile[name]).value if name in tile else default


def _without_marks(op: ir.Operation) -> ir.WalkResult:
    """Removes what only the interpreter reads."""
    if INDEX_CHECK in op.attributes:
        del op.attributes[INDEX_CHECK]
    return ir.WalkResult.ADVANCE


def ttir_text(function: ir.Operation) -> str:
    """A module with ``function`` (a ``tt.func``) alone, as TTIR that Triton's own parser accepts: the generic
    form, with explicit locations.  Byte-identical for the same function: values and locations are numbered
    from the start of the text, whatever else its module holds.

    The mirror spells a few ops differently (``ir/dialects/tt_text.py``); nothing else is changed.  Versions
    of Triton differ in spelling only, which ``runtime/kernels/triton_version.py`` rewrites later.
    """
    alone = ir.Module.create(loc=ir.Location.unknown(function.context))
    alone.body.append(function.clone(ip=False))
    alone.operation.walk(_without_marks)
    text = alone.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
    return of_triton(text)
