"""``fuse.tile`` as plain Python: how the dims of a kernel are cut into blocks."""

from collections.abc import Iterable
from typing import Any

from ..base.dataclass import dataclass
from ..index import Expr, const
from ..mlir import ir
from .kernel import attribute_items, natural, string

KINDS = ("grid", "resident", "looped")
#: The most stages of a software pipeline, each of which holds a copy of a loop's operands in shared memory.
MOST_STAGES = 16
#: Entries of ``fuse.tile`` and of each of its axes: those that must be there, numbers that may be, and flags.
NEEDED, AXIS, COUNTS, FLAGS = (
    ("axes", "num_warps", "num_stages"),
    ("dims", "block", "kind"),
    ("group", "programs"),
    ("again", "copied", "segmented", "written_out", "ahead"),
)
_ENTRIES, _AXIS_ENTRIES = frozenset(NEEDED + COUNTS + FLAGS), frozenset(AXIS)


@dataclass(frozen=True)
class Axis:
    """A flattened list of dims (row-major, the last fastest) cut into blocks of ``block`` points."""

    dims: tuple[str, ...]
    block: int
    kind: str

    def extent(self, dims: dict[str, Expr]) -> Expr:
        """Number of points of the axis."""
        total = const(1)
        for name in self.dims:
            total = total * dims[name]
        return total


@dataclass(frozen=True)
class Tile:
    """How a kernel is tiled: the axes of every tile, the innermost last, and the number of warps and
    stages.

    ``group``: how many blocks of the last but one grid axis programs go through before the next block of the
    last one.  1: all blocks of the last grid axis first.  ``programs``: so many programs go through all
    blocks of the grid, and copy tiles by descriptors where they sum in a loop
    (``codegen/products/tile_streams.py``).  0: a program for each block.  ``copied``: where such programs sum
    in no loop, descriptors copy the factors that all blocks have in common, again for each block, as no
    program holds them all.  ``again``: between two reductions of a row that it holds, a loop keeps what it
    has loaded, and computes again what it made of that (``codegen/tile_again.py``).  ``segmented``: the rows
    of a block are of one segment (``analysis/kernel/segments.py``).  ``written_out``: the steps of the looped
    axis are no loop but written out, so that where they read is known in each.  ``ahead``: what waits for no
    reduction is loaded before anything is reduced.
    """

    axes: tuple[Axis, ...]
    num_warps: int = 4
    num_stages: int = 1
    group: int = 1
    programs: int = 0
    again: bool = False
    copied: bool = False
    segmented: bool = False
    written_out: bool = False
    ahead: bool = False

    def axis_of(self, dim: str) -> int:
        """Number of the axis that holds ``dim``."""
        return next(i for i, axis in enumerate(self.axes) if dim in axis.dims)

    @property
    def looped(self) -> int | None:
        """Number of the looped axis."""
        return next((i for i, axis in enumerate(self.axes) if axis.kind == "looped"), None)

    @property
    def elements(self) -> int:
        """Elements of a full tile."""
        total = 1
        for axis in self.axes:
            total *= axis.block
        return total

    def problem(self, dims: Iterable[str]) -> str | None:
        """Why this does not tile a kernel with ``dims``; None when it does."""
        placed = [d for axis in self.axes for d in axis.dims]
        if sorted(placed, key=natural) != sorted(dims, key=natural):
            wanted = sorted(dims, key=natural)
            return f"expected every dim in exactly one axis, got the dims {wanted} in axes of {placed}"
        for axis in self.axes:
            if axis.kind not in KINDS:
                return f"expected an axis kind of {', '.join(KINDS)}, got '{axis.kind}'"
            if axis.block < 1 or axis.block & (axis.block - 1):
                where = f"the axis of {list(axis.dims)}"
                return f"expected a block that is a power of two, got {axis.block} for {where}"
        if sum(axis.kind == "looped" for axis in self.axes) > 1:
            return "expected at most one looped axis"
        if self.num_warps < 1 or self.num_warps > 32 or self.num_warps & (self.num_warps - 1):
            return f"expected 1, 2, 4, 8, 16 or 32 warps, got {self.num_warps}"
        if not 1 <= self.num_stages <= MOST_STAGES:
            return f"expected 1 to {MOST_STAGES} stages, got {self.num_stages}"
        if self.group < 1:
            return f"expected a group of 1 or more blocks, got {self.group}"
        if self.group > 1 and sum(axis.kind == "grid" for axis in self.axes) < 2:
            return f"expected two grid axes for a group of {self.group} blocks"
        if self.programs < 0:
            return f"expected 0 or more programs, got {self.programs}"
        if self.programs and not any(axis.kind == "grid" for axis in self.axes):
            return f"expected a grid axis, through whose blocks {self.programs} programs go"
        if self.again and not {"looped", "resident"} <= {axis.kind for axis in self.axes}:
            return "expected a looped and a resident axis where rows are computed again"
        if self.copied and (not self.programs or self.looped is not None):
            return "expected programs and no looped axis where factors are copied for each block"
        if self.written_out and (self.looped is None or self.num_stages > 1):
            return "expected a looped axis in one stage where steps are written out"
        return None

    def attribute(self) -> ir.DictAttr:
        """The attribute ``fuse.tile``, in the current context."""
        axes = [
            ir.DictAttr.get(
                {
                    "dims": ir.ArrayAttr.get([ir.StringAttr.get(d) for d in axis.dims]),
                    "block": _integer(axis.block),
                    "kind": ir.StringAttr.get(axis.kind),
                }
            )
            for axis in self.axes
        ]
        entries: dict[str, ir.Attribute] = {
            "axes": ir.ArrayAttr.get(axes),
            "num_warps": _integer(self.num_warps),
            "num_stages": _integer(self.num_stages),
        }
        if self.group != 1:
            entries["group"] = _integer(self.group)
        if self.programs:
            entries["programs"] = _integer(self.programs)
        entries.update((flag, ir.UnitAttr.get()) for flag in FLAGS if getattr(self, flag))
        return ir.DictAttr.get(entries)

    @staticmethod
    def of(attribute: ir.Attribute) -> "Tile":
        """Reads ``fuse.tile``.  Raises ValueError where an entry is missing, unknown or of another type."""
        named = _entries(attribute, "fuse.tile")
        for key in NEEDED:
            if key not in named:
                raise ValueError(f"fuse.tile has no '{key}'")
        if not named.keys() <= _ENTRIES:
            raise ValueError(f"fuse.tile has an unknown entry '{min(named.keys() - _ENTRIES)}'")
        for key in FLAGS:
            if key in named and not isinstance(named[key], ir.UnitAttr):
                raise ValueError(f"expected {key} of fuse.tile to have no value, got {named[key]}")
        axes = []
        for entry in _expected(named["axes"], ir.ArrayAttr, "axes of fuse.tile", "an array"):
            parts = _entries(entry, "an axis of fuse.tile")
            for key in AXIS:
                if key not in parts:
                    raise ValueError(f"an axis of fuse.tile has no '{key}'")
            if not parts.keys() <= _AXIS_ENTRIES:
                raise ValueError(
                    f"an axis of fuse.tile has an unknown entry '{min(parts.keys() - _AXIS_ENTRIES)}'"
                )
            dims = _expected(parts["dims"], ir.ArrayAttr, "dims of fuse.tile", "an array of strings")
            placed = tuple([_text(dim, "a dim of fuse.tile") for dim in dims])
            axes.append(Axis(placed, _number(parts, "block"), _text(parts["kind"], "kind of fuse.tile")))
        group = _number(named, "group") if "group" in named else 1
        programs = _number(named, "programs") if "programs" in named else 0
        numbers = _number(named, "num_warps"), _number(named, "num_stages")
        return Tile(tuple(axes), *numbers, group, programs, **{flag: flag in named for flag in FLAGS})


def _expected(attribute: ir.Attribute, kind: type[ir.Attribute], what: str, article: str) -> Any:
    if not isinstance(attribute, kind):
        raise ValueError(f"expected {what} to be {article}, got {attribute}")
    return attribute


def _entries(attribute: ir.Attribute, what: str) -> dict[str, ir.Attribute]:
    return dict(attribute_items(_expected(attribute, ir.DictAttr, what, "a dictionary")))


def _text(attribute: ir.Attribute, what: str) -> str:
    return string(_expected(attribute, ir.StringAttr, what, "a string"))


def _number(named: dict[str, ir.Attribute], key: str) -> int:
    value: int = _expected(named[key], ir.IntegerAttr, f"{key} of fuse.tile", "an integer").value
    return value


def _integer(value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
