"""What Triton compiles of a planned module: the TTIR of every launch, with its options and signature."""

from dataclasses import dataclass

from ..ir.kernel import attribute_items, string, strings
from ..ir.nesting import modules_in
from ..mlir import ir
from .ttir import ttir_text


@dataclass(frozen=True)
class KernelSource:
    """One kernel as Triton gets it.  ``signature``: "ptr", "i32", .. for each argument in order.
    ``multiplies``: whether tensor cores multiply its tiles, of which there are others.
    """

    name: str
    text: str
    signature: tuple[str, ...]
    num_warps: int
    num_stages: int
    multiplies: bool = False


def kernel_sources(module: ir.Module) -> dict[str, KernelSource]:
    """The sources of all launches, by the name of the launch declaration, in module order.  Those of a
    sub-graph follow; their names are the sub-graph's name, a dot, and the launch's name.
    """
    functions = {
        string(op.attributes["sym_name"]): op.operation
        for op in module.body.operations
        if op.operation.name == "tt.func"
    }
    sources: dict[str, KernelSource] = {}
    for op in module.body.operations:
        if op.operation.name != "func.func" or "fuse.launch" not in op.attributes:
            continue
        tile = dict(attribute_items(op.attributes["fuse.tile"])) if "fuse.tile" in op.attributes else {}
        target = ir.FlatSymbolRefAttr(op.attributes["fuse.launch"]).value
        sources[string(op.attributes["sym_name"])] = KernelSource(
            name=target,
            text=ttir_text(functions[target]),
            signature=tuple(p.split(":")[1] for p in strings(op.attributes["fuse.params"])),
            num_warps=_integer(tile, "num_warps", 4),
            num_stages=_integer(tile, "num_stages", 1),
            multiplies=_has_axes(tile) and _multiplies(functions[target].regions[0]),
        )
    for graph, nested in modules_in(module).items():
        sources |= {f"{graph}.{name}": source for name, source in kernel_sources(nested).items()}
    return sources


def _has_axes(tile: dict[str, ir.Attribute]) -> bool:
    """Whether one kernel was cut so; the parts of a combined launch have tiles of their own."""
    return "axes" in tile and len(ir.ArrayAttr(tile["axes"])) > 0


def _multiplies(region: ir.Region) -> bool:
    """Whether an operation in a region multiplies tiles."""
    return any(
        op.operation.name == "tt.dot" or any(_multiplies(inner) for inner in op.operation.regions)
        for block in region.blocks
        for op in block.operations
    )


def _integer(tile: dict[str, ir.Attribute], name: str, default: int) -> int:
    return ir.IntegerAttr(tile[name]).value if name in tile else default
