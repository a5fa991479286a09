"""Arguments that share memory with one that a graph writes to.

AOTAutograd merges such arguments, and compiles for the offsets that they have.  It guards on them only among
arguments that lie in one storage when it compiles, and not fully.  So a later call whose arguments overlap
otherwise would read old values, or lose a write.  Each call of a graph that writes to an argument compares
where its arguments lie with what the graph was compiled for.  Where they lie otherwise, or where an argument
that is written has two elements in one place, torch runs the captured graph, op by op, as eager mode would.
"""

import logging
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from ..base.strides import span
from ..fx.views import meets_itself
from .as_torch import function_of

log = logging.getLogger(__name__)

#: Pairs of arguments, by number, that overlap; one of each is written.  An argument beside itself: two of its
#: elements may lie in one place.
Overlaps = frozenset[tuple[int, int]]

#: How many placements of arguments are known to be right, before all are forgotten.
_KNOWN = 256


def with_overlaps(
    call: Callable[..., Any], gm: GraphModule, example_inputs: Sequence[Any], written: Sequence[int] | None
) -> Callable[..., Any]:
    """What Dynamo calls instead of ``call``, which is the compiled ``gm``.

    written: the inputs that the graph writes to; None where AOTAutograd merged some.  Then the first call,
    for which it was compiled, shows how they lie.
    """
    inputs = range(len(example_inputs))
    strided = [i for i in inputs if isinstance(x := example_inputs[i], Tensor) and x.layout is torch.strided]
    sizes = [i for i in inputs if isinstance(example_inputs[i], (int, torch.SymInt))]
    if not strided or (written is not None and not set(written) & set(strided)):
        return call
    names = [node.name for node in gm.graph.find_nodes(op="placeholder")]
    run = function_of(gm)
    pick = itemgetter(*strided, *strided[:1])  # of one item, it would give the item itself
    pick_sizes = itemgetter(*sizes, *sizes[:1]) if sizes else lambda args: ()
    compiled_for: tuple[Any, ...] | None = None  # where merged arguments lie
    known: set[tuple[Any, ...]] = set()
    told = False

    def checked(*args: Any) -> Any:
        nonlocal told
        where = (*map(Tensor.data_ptr, pick(args)), *pick_sizes(args))
        if where not in known:
            wrong = _wrong(args)
            if wrong is not None:
                if not told:
                    log.warning("%s", _sentence(wrong, names))
                    told = True
                return run(*args)
            if len(known) >= _KNOWN:
                known.clear()
            if written is not None:  # merged arguments may lie elsewhere in a storage at the same addresses
                known.add(where)
        return call(*args)

    def _wrong(args: Sequence[Any]) -> Overlaps | None:
        nonlocal compiled_for
        found = overlaps(args, strided, strided if written is None else written)
        if written is not None:
            return found or None
        lie = _sharing(args, strided)
        compiled_for = compiled_for or lie
        return found if lie != compiled_for or any(a == b for a, b in found) else None

    return checked


def _sharing(args: Sequence[Any], strided: Sequence[int]) -> tuple[Any, ...]:
    """For each argument, the number and size of its storage, and where it begins in it."""
    storages: dict[int, int] = {}
    return tuple(
        (storages.setdefault(s.data_ptr(), len(storages)), s.nbytes(), args[i].storage_offset())
        for i in strided
        for s in (args[i].untyped_storage(),)
    )


def overlaps(args: Sequence[Any], strided: Sequence[int], written: Sequence[int]) -> Overlaps:
    """Which arguments with the numbers ``strided`` overlap one that is ``written``.  Two count from the
    first to the last byte of each, so that two whose elements alternate do overlap.
    """
    spans = sorted((*_span(args[i]), i) for i in strided if args[i].numel())
    changed, found, reach = set(written), set(), list[tuple[int, int]]()
    for start, end, i in spans:
        reach = [(last, j) for last, j in reach if last > start]
        found |= {(min(i, j), max(i, j)) for _, j in reach if i in changed or j in changed}
        reach.append((end, i))
    found |= {(i, i) for _, _, i in spans if i in changed and meets_itself(args[i])}
    return frozenset(found)


def _span(tensor: Tensor) -> tuple[int, int]:
    """The addresses of the first byte of a tensor and of the one behind its last."""
    start = tensor.data_ptr()
    return start, start + span(tensor.shape, tensor.stride()) * tensor.element_size()


def _sentence(found: Overlaps, names: Sequence[str]) -> str:
    pairs = ", ".join(f"{names[a]} with {names[b] if a != b else 'itself'}" for a, b in sorted(found)[:4])
    return (
        "torch runs a graph that writes to an argument: its arguments do not lie in memory as the graph was "
        f"compiled for ({f'these overlap: {pairs}' if found else 'none overlap'})"
    )


__all__ = ["overlaps", "with_overlaps"]
