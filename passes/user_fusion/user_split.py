"""A scalar kernel cut in two, of which the first part can be computed in a user's kernel.

Not a pass: a helper of ``fuse-user-epilogues``.

Before::

    %h, %n = call @add_layer_norm(%r, %x, ..)      // h = r + x, n = the norm of h; %r is a user's kernel's

After::

    %h = call @add(%r, %x, ..)
    %n = call @layer_norm(%h, ..)
"""

from collections.abc import Collection, Iterable
from typing import TypeAlias

from ...compiler.analysis.kernel.precision import IMPLICIT
from ...compiler.cost.slots import FREE
from ...compiler.ir.defining import defining_op
from ...compiler.ir.kernel import REDUCTIONS, Kernel, argument_attributes, string, strings
from ...compiler.mlir import arith, ir
from ..base.kernels import result_types, set_signature
from ..base.new_ops import load
from ..base.program import Program
from ..base.results import drop_results

#: Ops after which a value is not one of a single point any more.
_CROSSING = (*REDUCTIONS, "fuse.scan")


#: The numbers of the results of a kernel that the first part stores, and the second part reads.
Cut: TypeAlias = tuple[int, ...]


def find_cut(reader: Kernel, read: Collection[int]) -> Cut | None:
    """Where ``reader`` can be cut, so that the second part does not read the arguments ``read``.  None where
    it cannot: no result is a value of one point that the rest is made of.
    """
    block = reader.func.regions[0].blocks[0]
    stores = [v.owner.operation for v in block.operations[len(block.operations) - 1].operation.operands]
    loads = {a.op for a in reader.loads if a.argument in read}
    through: dict[int, list[ir.Value]] = {}
    for number, store in enumerate(stores):
        slice_ = _slice([store.operands[1]], ())
        if store.name != "fuse.store" or string(store.attributes["mode"]) != "set":
            return None
        if loads & slice_ and not any(op.name in _CROSSING for op in slice_):
            rounded = _rounding(store)
            through[number] = [store.operands[1], *([] if rounded is None else [rounded.operands[0]])]
    rest = [store for number, store in enumerate(stores) if number not in through]
    cut = {value for values in through.values() for value in values}
    if not rest or not through or any(loads & _slice(store.operands, cut) for store in rest):
        return None
    computed = [v for v in cut if not isinstance(v.owner, ir.Block) and v.owner.operation.name not in FREE]
    return tuple(through) if len(computed) == len(cut) else None


def split(program: Program, call: ir.Operation, cut: Cut) -> tuple[ir.Operation, ir.Operation]:
    """Puts the calls of both parts in front of ``call``, which keeps its uses."""
    kernel = program.callee(call)
    count = len(call.results)
    first = program.recall(call, kernel, list(call.operands), [r.type for r in call.results])
    first = drop_results(program, first, kernel, [n in cut for n in range(count)])
    rest = program.copy(kernel)
    operands = [*call.operands, *first.results]
    _read_stored(program, rest, cut)
    second = program.recall(call, rest, operands, [r.type for r in call.results])
    return first, drop_results(program, second, rest, [n not in cut for n in range(count)])


def replace(program: Program, call: ir.Operation, cut: Cut, parts: Iterable[ir.Operation]) -> None:
    """Gives the uses of ``call`` to its parts, and erases it."""
    first, second = parts
    rest = [n for n in range(len(call.results)) if n not in cut]
    for numbers, part in ((cut, first), (rest, second)):
        for number, result in zip(numbers, part.results, strict=True):
            call.results[number].replace_all_uses_with(result)
    program.erase_call(call)


def _slice(values: Iterable[ir.Value], cut: Collection[ir.Value]) -> set[ir.Operation]:
    """The ops that ``values`` are made of, up to those of ``cut``."""
    found: set[ir.Operation] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value in cut or isinstance(value.owner, ir.Block) or value.owner.operation in found:
            continue
        found.add(value.owner.operation)
        waiting.extend(value.owner.operation.operands)
    return found


def _read_stored(program: Program, func: ir.Operation, cut: Cut) -> None:
    """Gives ``func`` an argument for each result of the first part, which it reads instead of computing."""
    block, attributes = func.regions[0].blocks[0], argument_attributes(func)
    stores = [v.owner.operation for v in block.operations[len(block.operations) - 1].operation.operands]
    for number in cut:
        store = stores[number]
        tensor = block.add_argument(store.results[0].type, func.location)
        attributes.append({})
        stored, rounded = store.operands[1], _rounding(store)
        element, made = (
            stored.type,
            stored.owner.operation if rounded is None else rounded.operands[0].owner.operation,
        )
        with ir.InsertionPoint(made), store.location:
            loaded = load(tensor, element, strings(store.attributes["at"]))
            stored.replace_all_uses_except(loaded, store)
            if rounded is not None:
                exact = rounded.operands[0]
                exact.replace_all_uses_except(arith.extf(exact.type, loaded), rounded.operation)
    set_signature(func, result_types(func), attributes)


def _rounding(store: ir.Operation) -> ir.Operation | None:
    """The rounding in front of a store that eager makes, since an op ends there: its readers may read what is
    stored.  None for a cast of the program's, beside which others may read the exact number.
    """
    rounded = defining_op(store.operands[1], arith.TruncFOp)
    return rounded if rounded is not None and IMPLICIT in rounded.attributes else None
