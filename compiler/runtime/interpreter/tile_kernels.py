"""Runs tile code on the CPU: tiled kernels and the ``tt.func`` of a launch, for all programs of the grid at
once.

Programs run in lock step, in batches that keep memory bounded.  Where they diverge (``scf`` on values that
differ between programs) all sides run under a mask of active programs.  Accesses are checked for bounds and
for conflicts between programs (``tile_memory``); atomic updates happen in program order.  Where a loop may
wait for what another program writes, as at a lock, programs run one after the other, and conflicts are not
looked for.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ...codegen.nvidia import (
    EARLY_TEXT,
    LAUNCHING_TEXT,
    ROUNDED_TEXT,
    WAITING_TEXT,
    WIDENED_TEXT,
    BitsText,
    TableText,
    WordsText,
    bits_text,
    first_parameter,
)
from ...codegen.products.halves import HalfText
from ...index import parse
from ...ir.dialects.tt_text import FAMILIES, mirror_name
from ...ir.dialects.tt_types import element_of
from ...ir.kernel import kernel_ties, named_sizes, string, strings
from ...mlir import ir
from ..errors import RunError
from ..torch_types import TORCH_DTYPES
from .scalar.dtypes import value_dtype
from .tile_accesses import table_step
from .tile_assembly import assembly_step
from .tile_batch import Batch, choose, tile_shape
from .tile_memory import Memory, Pointers
from .tile_ops import TILE_OPS, elementwise_step

#: Elements of the largest tile, counted over all programs that run together.
BATCH_ELEMENTS = 1 << 22
#: A divergent loop with more iterations is an error: it probably waits for something that cannot happen in
#: lock step.
MOST_ITERATIONS = 1 << 20
#: The same for a loop that may wait for another program.  Programs run one after the other then.
MOST_TURNS_WAITING = 1 << 14


class InterpretedTileKernel:
    """One tiled kernel, or one launch declaration with its ``tt.func``, ready to run.

    ``functions``: the module's functions by name.  ``check_races`` logs accesses (grids of one program have
    no races). ``batch_elements`` bounds memory.  Raises RunError on an op that is not tile code.
    """

    def __init__(
        self,
        func: ir.Operation,
        functions: Mapping[str, ir.Operation],
        shadow: bool = False,
        *,
        check_races: bool = True,
        batch_elements: int = BATCH_ELEMENTS,
    ) -> None:
        self.name = string(func.attributes["sym_name"])
        self._location = func.location
        self._check_races = check_races
        self._grid = [parse(e) for e in strings(func.attributes["fuse.grid"])]
        self._ties = kernel_ties(func)
        self._symbols = named_sizes(func)
        body, self._passed = _body(func, functions)
        block = body.regions[0].blocks[0]
        self._kinds = [_kind(a.type, shadow) for a in block.arguments]
        reader = _Reader(shadow)
        self._block = reader.block(block)
        self._slots = len(reader.number)
        self._batch = max(1, batch_elements // reader.largest)
        if reader.waits:
            self._batch, self._check_races = 1, False

    def __call__(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Runs all programs on tensors, numbers and tokens (None), one per argument of the kernel function.
        Writes tied arguments in place and returns them, one per result."""
        env = {name: int(arguments[i]) for name, i in self._symbols.items()}
        extents = [int(e.evaluate(env)) for e in self._grid]
        if len(extents) > 3 or any(n < 0 for n in extents):
            raise RunError(f"kernel {self.name} has the grid {extents}", self._location)
        x, y, z = [*extents, 1, 1, 1][:3]
        self.run(arguments, (x, y, z))
        return [arguments[tie] for tie in self._ties]

    def run(self, arguments: Sequence[Any], grid: tuple[int, int, int]) -> None:
        """Runs the programs of a grid, whatever the kernel's own is; ``arguments`` as above."""
        programs = grid[0] * grid[1] * grid[2]
        memory = Memory.of(
            [a for a in arguments if isinstance(a, Tensor)], self._check_races and programs > 1
        )
        for start in range(0, programs, self._batch):
            batch = Batch(torch.arange(start, min(programs, start + self._batch)), grid, memory)
            values: list[Any] = [None] * self._slots
            for slot, kind, position in zip(self._block.arguments, self._kinds, self._passed, strict=True):
                values[slot] = _handed(arguments[position], kind, memory)
            self._block.run(batch, values)


def _body(func: ir.Operation, functions: Mapping[str, ir.Operation]) -> tuple[ir.Operation, list[int]]:
    """The function to run, and for each of its arguments the argument of the kernel function that it is."""
    if "fuse.launch" not in func.attributes:
        return func, list(range(len(func.regions[0].blocks[0].arguments)))
    name = ir.FlatSymbolRefAttr(func.attributes["fuse.launch"]).value
    if name not in functions:
        raise RunError(f"the module has no function @{name} to launch", func.location)
    target = functions[name]
    if "fuse.params" in func.attributes:
        passed = [int(p.split(":")[0]) for p in strings(func.attributes["fuse.params"])]
    else:
        passed = list(range(len(target.regions[0].blocks[0].arguments)))
    if len(passed) != len(target.regions[0].blocks[0].arguments):
        raise RunError(f"@{name} does not take the {len(passed)} arguments of its launch", func.location)
    return target, passed


def _kind(type_: ir.Type, shadow: bool) -> str | torch.dtype:
    """How an argument is passed: "ptr", "tensor" (read by ``fuse.base``), "token", or the dtype of a
    scalar."""
    if isinstance(type_, ir.RankedTensorType):
        return "tensor"
    text = str(type_)
    if text.startswith("!tt.ptr"):
        return "ptr"
    return "token" if text.startswith("!fuse") else value_dtype(type_, shadow)


def _handed(argument: Any, kind: str | torch.dtype, memory: Memory) -> Any:
    if isinstance(kind, torch.dtype):
        return torch.tensor([argument], dtype=kind)
    return memory.base(argument) if kind == "ptr" else argument


# --- blocks and regions -------------------------------------------------------------------------------------

#: (batch, all values, operands) -> results.
_Step = Callable[[Batch, list[Any], list[Any]], Sequence[Any]]


class Block:
    """A block of tile code: its steps, and the slots of its terminator's operands."""

    def __init__(self, arguments: list[int]) -> None:
        self.arguments = arguments
        self.steps: list[tuple[_Step, list[int], list[int]]] = []
        self.handed_on: list[int] = []

    def run(self, batch: Batch, values: list[Any], arguments: Sequence[Any] = ()) -> list[Any]:
        """Runs the block on ``arguments`` and returns its terminator's operands.  ``values`` holds the values
        of outer blocks.
        """
        for slot, argument in zip(self.arguments, arguments, strict=False):
            values[slot] = argument
        for step, operands, results in self.steps:
            made = step(batch, values, [values[i] for i in operands])
            for slot, value in zip(results, made, strict=True):
                values[slot] = value
        return [values[i] for i in self.handed_on]


#: Terminators, whose operands a block returns.
TERMINATORS = {"func.return", "tt.return", "scf.yield", "scf.condition"} | {
    mirror_name(op, count) for op in ("tt.reduce.return", "tt.scan.return") for count in FAMILIES[op]
}


#: Threads over which a tile is spread when it is folded: those of four warps.
THREADS = 128


class _Reader:
    """Translates blocks; every value of the kernel gets a slot of its own."""

    def __init__(self, shadow: bool) -> None:
        self.shadow = shadow
        self.number: dict[ir.Value, int] = {}
        self.largest = 1
        self.parameters: list[int] = []  #: slots of the kernel's arguments
        self.waits = False  #: whether a loop may wait for what another program writes

    def slots(self, values: Sequence[ir.Value]) -> list[int]:
        for value in values:
            self.number[value] = len(self.number)
            self.largest = max(
                self.largest, torch.Size(tile_shape(value.type)).numel() if _is_tile(value.type) else 1
            )
        return [self.number[v] for v in values]

    def block(self, block: ir.Block) -> Block:
        made = Block(self.slots(block.arguments))
        self.parameters = self.parameters or made.arguments
        for op in (o.operation for o in block.operations):
            if op.name in TERMINATORS:
                made.handed_on = [self.number[v] for v in op.operands]
                continue
            step = self._step(op)
            made.steps.append((step, [self.number[v] for v in op.operands], self.slots(op.results)))
        return made

    def _step(self, op: ir.Operation) -> _Step:
        if op.name in REGION_OPS:
            return REGION_OPS[op.name](self, op)
        if op.name in TILE_OPS:
            function = TILE_OPS[op.name](op, self.shadow)
        else:
            found = elementwise_step(op, self.shadow)
            if found is None:
                raise RunError(f"{op.name} is not tile code", op.location)
            function = found
        results = len(op.results)

        def step(batch: Batch, values: list[Any], operands: list[Any]) -> Sequence[Any]:
            made = function(batch, operands)
            return (made,) if results == 1 else made

        return step


def _is_tile(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType) and type_.has_static_shape and type_.encoding is None


def _combiner(block: Block, batch: Batch, values: list[Any]) -> Callable[[list[Any], list[Any]], list[Any]]:
    """A region of scalar ops, applied to tiles.  That works for any shape, as its ops are elementwise."""
    return lambda left, right: block.run(batch, values, [*left, *right])


def _reduce(reader: _Reader, op: ir.Operation) -> _Step:
    """Folds in Triton's order, so that rounding errors are as large as on a GPU.  Each thread folds its
    elements of a tile one by one, then a tree folds the threads' results.  Neighbours are combined, which
    keeps the order of the elements.
    """
    axis = ir.IntegerAttr(op.attributes["axis"]).value + 1
    block = reader.block(op.regions[0].blocks[0])

    def step(batch: Batch, values: list[Any], operands: list[Any]) -> Sequence[Any]:
        combine, parts = _combiner(block, batch, values), list(operands)
        held = min(parts[0].shape[axis], max(1, parts[0][0].numel() // THREADS))
        rows = [p.unflatten(axis, (-1, held)) for p in parts]
        parts = [row.select(axis + 1, 0) for row in rows]
        for i in range(1, held):
            parts = combine(parts, [row.select(axis + 1, i) for row in rows])
        while parts[0].shape[axis] > 1:
            pairs = [p.unflatten(axis, (-1, 2)) for p in parts]
            parts = combine([p.select(axis + 1, 0) for p in pairs], [p.select(axis + 1, 1) for p in pairs])
        return [p.squeeze(axis) for p in parts]

    return step


def _scan(reader: _Reader, op: ir.Operation) -> _Step:
    axis = ir.IntegerAttr(op.attributes["axis"]).value + 1
    backwards = bool(ir.BoolAttr(op.attributes["reverse"]).value)
    block = reader.block(op.regions[0].blocks[0])

    def step(batch: Batch, values: list[Any], operands: list[Any]) -> Sequence[Any]:
        combine = _combiner(block, batch, values)
        parts = [p.flip(axis) if backwards else p for p in operands]
        extent, reach = parts[0].shape[axis], 1
        while reach < extent:
            earlier = [p.narrow(axis, 0, extent - reach) for p in parts]
            later = [p.narrow(axis, reach, extent - reach) for p in parts]
            joined = combine(earlier, later)
            parts = [
                torch.cat([p.narrow(axis, 0, reach).expand(len(j), *[-1] * (j.ndim - 1)), j], axis)
                for p, j in zip(parts, joined, strict=True)
            ]
            reach *= 2
        return [p.flip(axis) if backwards else p for p in parts]

    return step


def _uniform(value: Tensor, batch: Batch) -> Any | None:
    """The number that all active programs have; None if they differ."""
    if value.shape[0] > 1 and batch.active is not None:
        value = value[batch.active]
    if value.shape[0] == 1 or bool((value == value[0]).all()):
        return value[0].item()
    return None


def _under(batch: Batch, mask: Tensor) -> tuple[Batch, Tensor]:
    """The batch in which only programs with a true ``mask`` stay active, and which programs these are."""
    active = mask.expand(batch.count)
    if batch.active is not None:
        active = active & batch.active
    return Batch(batch.programs, batch.grid, batch.memory, active), active


def _if(reader: _Reader, op: ir.Operation) -> _Step:
    blocks = [reader.block(r.blocks[0]) if len(r.blocks) else Block([]) for r in op.regions]

    def step(batch: Batch, values: list[Any], operands: list[Any]) -> Sequence[Any]:
        condition = operands[0]
        agreed = _uniform(condition, batch)
        if agreed is not None:
            return blocks[0 if agreed else 1].run(batch, values)
        then = blocks[0].run(_under(batch, condition)[0], values)
        other = blocks[1].run(_under(batch, ~condition)[0], values)
        return [choose(condition, a, b) for a, b in zip(then, other, strict=True)]

    return step


def _for(reader: _Reader, op: ir.Operation) -> _Step:
    block = reader.block(op.regions[0].blocks[0])
    dtype = value_dtype(element_of(op.operands[0].type))

    def step(batch: Batch, values: list[Any], operands: list[Any]) -> Sequence[Any]:
        bounds, carried = operands[:3], operands[3:]
        low, high, by = (_uniform(b, batch) for b in bounds)
        if low is not None and high is not None and by is not None:
            for i in range(low, high, by):
                carried = block.run(batch, values, [torch.tensor([i], dtype=dtype), *carried])
            return carried
        i = bounds[0].expand(batch.count)
        while True:
            going = i < bounds[1]
            inner, active = _under(batch, going)
            if not active.any():
                return carried
            carried = _kept(active, block.run(inner, values, [i, *carried]), carried)
            i = i + bounds[2]

    return step


def _kept(mask: Tensor, new: list[Any], old: list[Any]) -> list[Any]:
    return [choose(mask, n, o) for n, o in zip(new, old, strict=True)]


def _waits(op: ir.Operation) -> bool:
    """Whether a loop may run until another program writes: it updates memory, or goes on by what it loads."""
    names = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    updated: list[str] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        updated.append(inner.operation.name)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return "tt.load" in names or any(name.startswith("tt.atomic") for name in updated)


def _while(reader: _Reader, op: ir.Operation) -> _Step:
    before, after = (reader.block(r.blocks[0]) for r in op.regions)
    waits = _waits(op)
    reader.waits |= waits
    most = MOST_TURNS_WAITING if waits else MOST_ITERATIONS

    def step(batch: Batch, values: list[Any], operands: list[Any]) -> Sequence[Any]:
        current, active = _under(batch, torch.ones(1, dtype=torch.bool))
        carried, result = operands, None
        for _ in range(most):
            going, *handed = before.run(current, values, carried)
            result = handed if result is None else _kept(active, handed, result)
            current, active = _under(current, going)
            if not active.any():
                return result
            carried = _kept(active, after.run(current, values, handed), carried)
        why = ": it waits for a program that runs after it" if waits else ""
        raise RunError(f"scf.while did not end within {most} iterations{why}", op.location)

    return step


def _of_bits(how: BitsText, wide: torch.dtype) -> _Step:
    """Floats of bits of bytes or words, minus a number or plus a tile."""

    def step(batch: Batch, values: list[Any], operands: list[Any]) -> Sequence[Any]:
        if isinstance(how, WordsText):
            number = (operands[0] >> how.shift & how.mask).to(wide)
        else:
            bits = operands[0].view(torch.uint8) >> how.shift & how.mask
            number = bits.view(torch.int8 if how.signed else torch.uint8).to(wide)
        return (number - how.less if how.less is not None else number + how.power + operands[1],)

    return step


def _inline_asm(reader: _Reader, op: ir.Operation) -> _Step:
    text = ir.StringAttr(op.attributes["asm_string"]).value
    if text in (EARLY_TEXT, WAITING_TEXT, LAUNCHING_TEXT):
        return lambda batch, values, operands: (operands[0],)
    if text == ROUNDED_TEXT:
        dtype = torch.float64 if reader.shadow else torch.bfloat16  # under shadow nothing is rounded
        return lambda batch, values, operands: (operands[0].to(dtype).to(operands[0].dtype),)
    if text == WIDENED_TEXT:
        wide = torch.float64 if reader.shadow else torch.float32
        return lambda batch, values, operands: (operands[0].to(wide),)
    half = HalfText.read(text)
    how = bits_text(text) if half is None else half.of
    if how is not None:
        return _of_bits(how, torch.float64 if reader.shadow else TORCH_DTYPES[how.element])
    table = TableText.read(text)
    if table is not None:
        look_up = table_step(op, table, reader.shadow)
        if not table.parameter:
            return lambda batch, values, operands: (look_up(batch, operands),)
        slot = reader.parameters[int(table.parameter.rpartition("_")[2])]
        return lambda batch, values, operands: (look_up(batch, [values[slot], *operands]),)
    first = first_parameter(text)
    if first is None:
        apply = assembly_step(op, reader.shadow)
        return lambda batch, values, operands: apply(batch, operands)
    slots = reader.parameters[first:]

    def step(batch: Batch, values: list[Any], operands: list[Any]) -> Sequence[Any]:
        return (Pointers.picked(operands[0], [values[slot] for slot in slots], batch.active),)

    return step


#: Ops that need more than the values of their operands: op name -> (reader, op) -> step.
REGION_OPS: dict[str, Callable[[_Reader, ir.Operation], _Step]] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    **{
        mirror_name("tt.elementwise_inline_asm", n): _inline_asm
        for n in FAMILIES["tt.elementwise_inline_asm"]
    },
    **{mirror_name("tt.reduce", count): _reduce for count in FAMILIES["tt.reduce"]},
    **{mirror_name("tt.scan", count): _scan for count in FAMILIES["tt.scan"]},
}
