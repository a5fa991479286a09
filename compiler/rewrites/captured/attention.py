"""Attention that a model spells out becomes one call of ``scaled_dot_product_attention``.

Before, in the graph that Dynamo captured::

    scores = torch.matmul(q, k.transpose(-2, -1)) / 8.0 + mask      # each step with one reader
    out = torch.matmul(dropout(softmax(scores, -1), 0.0), v)

After::

    out = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.125)

torch then chooses a fused kernel (flash, memory-efficient) or the products, as it does in eager mode, and
autograd derives the backward graph of that op.  A fused kernel never writes the matrix of scores to memory.

It fires where

1. the steps are a product, multiplications or divisions by positive numbers, at most one mask (added, or
   one where a number is filled in), a softmax over the last dim, and a second product;
2. each step has one reader; no node between the steps may write to an operand or change a mode (autocast,
   grad mode); and what a step writes in place is memory of the steps (``memory.py``), so nobody misses it;
3. q, k and v are 3-D or 4-D, have equal batch dims, devices and dtypes, rows of stride 1, and head sizes that
   are equal, or on a GPU at most 128;
4. the mask has the dtype of q, needs no gradient and has a value for each key; one that is filled in is known
   to be causal and leaves hidden keys no weight, or hides the same keys from all queries; where gradients are
   asked for, one that is added is the same for all queries, or known to have a number near 0 in each row
   (``attention_rows.py``);
5. torch has a fused kernel for that dtype, head size and device, as accurate as the products it replaces.

It does not fire on active dropout, because the fused kernels draw other random numbers than eager mode; in a
checkpoint without gradients, where torch refuses the op; nor where algorithms must be deterministic.

Where gradients are asked for, the mean of the keys is subtracted from each (``attention_rows.py``): a
kernel's gradients are of a result of 16 bits, and what all keys share would multiply what its rounding took.

Fused kernels choose the strides of their result.  A copy makes the result contiguous, as that of a product
is, unless the only reader merges the heads.  A row whose every key is masked with -inf is NaN, as it is when
it is spelled out, where a fused kernel gives 0 or anything: ``attention_rows.py`` says how.  On a GPU a row
whose every seen key holds an infinite number may be 0 and not NaN.  Where a finite number is filled in, a row
whose seen scores are all -inf, because its query or, under a causal mask, its keys are infinite, is NaN or 0,
and not the mean of the values that it must not see.

Why not an MLIR pass: fused attention is an op of torch's libraries, and autograd has to differentiate that op
and not its steps, so it must be in the graph before AOTAutograd traces it.
"""

import logging
import operator
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.nn import functional as F

from ...base.dataclass import dataclass
from ...fx.new_node import new_node
from ..rewriting import rewrite
from .attention_layout import merges_heads
from .attention_rows import (
    Emit,
    Filled,
    FusedMask,
    add_checked,
    added_mask,
    centre_keys,
    filled_mask,
    hide_keys,
    row_guard,
    shift_keys,
)
from .attention_splits import KeySplit, masked_attention, parts_of, split_attention
from .known_values import KnownValues
from .matching import example, recomputed_graphs, rewrite_graphs
from .memory import SharedMemory

log = logging.getLogger(__name__)

#: In the ``meta`` of the last product of an attention that stays as it is (``attention_decoding.py``).
DERIVED = "fuse_derived_attention"

#: The largest head size that cuDNN's kernels have beside another one of the values. What is left for wider
#: ones takes longer than the products.
WIDEST_UNEQUAL = 128
_BINARY = ("input", "other")
_SOFTMAX = ("input", "dim", "dtype")
_FILL = ("input", "mask", "value")

#: Name -> functions (or names of methods) and the names of their arguments, those that matter here.
STEPS: dict[str, tuple[tuple[tuple[Any, ...], tuple[str, ...]], ...]] = {
    "matmul": (((operator.matmul, torch.matmul, torch.bmm, "matmul", "bmm", "__matmul__"), _BINARY),),
    "mul": (((operator.mul, operator.imul, torch.mul, torch.multiply, "mul", "mul_", "__mul__"), _BINARY),),
    "div": (((operator.truediv, operator.itruediv, torch.div, torch.true_divide, "div", "div_"), _BINARY),),
    "add": (((operator.add, operator.iadd, torch.add, "add", "add_"), _BINARY),),
    "softmax": (
        ((torch.softmax, "softmax"), _SOFTMAX),
        ((F.softmax,), ("input", "dim", "_stacklevel", "dtype")),
    ),
    "dropout": (((F.dropout,), ("input", "p", "training", "inplace")),),
    "fill": (((torch.masked_fill, "masked_fill", "masked_fill_"), _FILL),),
    "keep": (((torch.where,), ("mask", "input", "value")),),
    "cast": ((("to", "float", "half", "bfloat16", "type_as", "contiguous"), ("input",)),),
}

_CALLS: dict[Any, tuple[str, tuple[str, ...]]] = {}
for _step, _forms in STEPS.items():
    for _targets, _names in _forms:
        for _target in _targets:
            assert _target not in _CALLS, f"{_target} is two steps"
            _CALLS[_target] = (_step, _names)

#: Arguments without a default, from the first.
_REQUIRED = {"matmul": 2, "mul": 2, "div": 2, "add": 2, "softmax": 1, "dropout": 1, "fill": 3, "keep": 3}


@dataclass(frozen=True)
class Attention:
    """What a product of probabilities and values computes.

    query, key, value: nodes of ``[..., t, d]``, ``[..., d, s]`` (as the product took it) and ``[..., s, d]``.
    scale: factor on the scores.  mask: the node of what is added to them, or None.  filled: how ``mask``
    replaces scores, where it is not added.  fused: what becomes of the mask.  steps: what is replaced, the
    last product first.
    """

    query: Node
    key: Node
    value: Node
    scale: float = 1.0
    mask: Node | None = None
    filled: Filled | None = None
    fused: FusedMask = FusedMask("none")
    steps: tuple[Node, ...] = ()

    @property
    def differentiated(self) -> bool:
        """Whether gradients are asked for."""
        values = [example(node) for node in (self.query, self.key, self.value, *self.steps)]
        return any(value is not None and value.requires_grad for value in values)


@rewrite(
    "attention",
    "spelled-out attention becomes one call of scaled_dot_product_attention, whose kernel torch chooses",
)
def fuse_attention(gm: GraphModule) -> int:
    """Rewrites every attention in a captured graph and the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.  It is changed in place.
    """
    recomputed = recomputed_graphs(gm)
    return rewrite_graphs(gm, lambda graph: _fuse(graph, recomputed=graph in recomputed))


def _fuse(graph: Graph, *, recomputed: bool) -> int:
    softmax = any(_call(node)[0] == "softmax" for node in graph.nodes)
    if not softmax or torch.are_deterministic_algorithms_enabled():
        return 0
    count = 0
    for node in list(graph.nodes):
        if not multiplies(node) or DERIVED in node.meta:
            continue
        found = recognize(node)
        if isinstance(found, str):
            log.debug("%s is no attention: %s", node.name, found)
            continue
        if recomputed and not found.differentiated:
            log.debug("%s stays: torch refuses the op in a checkpoint without gradients", node.name)
            continue
        log.info("%s is the attention of %s, %s and %s", node.name, found.query, found.key, found.value)
        _replace(graph, found)
        count += 1
    return count


def multiplies(node: Node) -> bool:
    """Whether a node is a product (matmul or bmm), which may be the last one of attention."""
    return _call(node)[0] == "matmul"


def recognize(node: Node) -> Attention | str:
    """The attention that ends in a product (matmul or bmm), or why there is none that can be fused."""
    _, arguments = _call(node)
    found = _probabilities(arguments["input"], (node,))
    if isinstance(found, str):
        return found
    value = arguments["other"]
    if not isinstance(value, Node) or value in found.steps:
        return "the second product multiplies something else"
    found = replace(found, value=value)
    memory = SharedMemory(node.graph)
    reason = _refusal(found) or _surroundings(found, memory)
    return reason or _with_fused_mask(found, KnownValues(memory))


def _with_fused_mask(found: Attention, known: KnownValues) -> Attention | str:
    if found.mask is None:
        return found
    if found.filled is None:
        fused = added_mask(found.mask, known, differentiated=found.differentiated)
    else:
        scores = next(example(step) for step in found.steps if _call(step)[0] in ("fill", "keep"))
        q = example(found.query)
        assert scores is not None and q is not None, "refused without example values"
        fused = filled_mask(found.mask, found.filled, scores, q.dtype, known)
    return fused if isinstance(fused, str) else replace(found, fused=fused)


def _probabilities(node: Any, steps: tuple[Node, ...]) -> Attention | str:
    """From the second product up to the softmax: casts, and dropout that does nothing."""
    step, arguments = _call(node)
    if step not in ("cast", "dropout", "softmax"):
        return "its first operand is not a softmax"
    if len(node.users) != 1:
        return f"{node.name} has other readers"
    steps = (*steps, node)
    if step == "cast" and not _is_cast(node):
        return f"{node.name} does more than a cast"
    if step == "cast":
        return _probabilities(arguments["input"], steps)
    if step == "dropout":
        idle = arguments.get("p", 0.5) == 0.0 or arguments.get("training", True) is False
        return _probabilities(arguments["input"], steps) if idle else "dropout is active"
    value = example(node)
    if value is None or arguments.get("dim") not in (-1, value.dim() - 1):
        return "the softmax is over another dim"
    if arguments.get("dtype") not in (None, torch.float32, value.dtype):
        return "the softmax has another dtype"
    return _scores(arguments["input"], Attention(node, node, node, steps=steps))


def _scores(node: Any, found: Attention) -> Attention | str:
    """From the softmax up to the first product.  Once a factor was met, a mask above it would be scaled."""
    step, arguments = _call(node)
    if step not in ("cast", "add", "fill", "keep", "mul", "div", "matmul"):
        return "the softmax is not of a product"
    if len(node.users) != 1:
        return f"{node.name} has other readers"
    found = replace(found, steps=(*found.steps, node))
    if step == "matmul":
        return _product(arguments, found)
    if step == "cast" and not _is_cast(node):
        return f"{node.name} does more than a cast"
    if step == "cast":
        return _scores(arguments["input"], found)
    if step in ("mul", "div"):
        return _factor(step, arguments, found)
    if found.mask is not None or found.scale != 1.0:
        return "there are two masks or one that is scaled"
    if step == "add":
        return _added(arguments["input"], arguments["other"], found)
    mask, value = arguments["mask"], arguments["value"]
    if not isinstance(mask, Node) or not isinstance(value, float | int):
        return "masked scores have no constant value"
    return _scores(arguments["input"], replace(found, mask=mask, filled=Filled(float(value), step == "fill")))


def _added(left: Any, right: Any, found: Attention) -> Attention | str:
    """One operand of the sum is the scores; the other one is the mask."""
    reason: Attention | str = "a number is added to the scores"
    for scores, mask in ((left, right), (right, left)):
        if isinstance(scores, Node) and isinstance(mask, Node) and scores is not mask:
            reason = _scores(scores, replace(found, mask=mask))
            if isinstance(reason, Attention):
                return reason
    return reason


def _factor(step: str, arguments: Mapping[str, Any], found: Attention) -> Attention | str:
    number, scores = arguments["other"], arguments["input"]
    if step == "mul" and isinstance(scores, float | int):
        number, scores = scores, number
    if not isinstance(number, float | int) or not 0.0 < number < float("inf"):
        return f"the scale is {number}, no positive number"
    scale = found.scale * number if step == "mul" else found.scale / number
    return _scores(scores, replace(found, scale=scale))


def _product(arguments: Mapping[str, Any], found: Attention) -> Attention | str:
    query, key = arguments["input"], arguments["other"]
    if not isinstance(query, Node) or not isinstance(key, Node) or found.mask in found.steps:
        return "the first product multiplies something else"
    return replace(found, query=query, key=key)


def _refusal(found: Attention) -> str | None:
    """Why operands or surroundings forbid the fused form, or None."""
    values = [example(node) for node in (found.query, found.key, found.value, *found.steps)]
    if any(value is None for value in values):
        return "an operand has no example value"
    q, k, v, out, *inner = [value for value in values if value is not None]
    softmax, product = next(example(n) for n in found.steps if _call(n)[0] == "softmax"), inner[-1]
    assert softmax is not None, "all values were found"
    if not (q.dim() == k.dim() == v.dim() and q.dim() in (3, 4)):
        return "operands are not all 3-D or 4-D"
    if len({q.dtype, k.dtype, v.dtype, out.dtype}) > 1 or len({q.device, k.device, v.device}) > 1:
        return "dtypes or devices differ"
    if not (_same(q.shape[:-2], k.shape[:-2]) and _same(q.shape[:-2], v.shape[:-2])):
        return "operands are broadcast"
    if not _same(softmax.shape, product.shape):
        return "the mask broadcasts the scores"
    if any(value.dtype not in (q.dtype, torch.float32) for value in inner):
        return "a step has a dtype of less precision"
    if not _same((q.stride(-1), k.stride(-2), v.stride(-1)), (1, 1, 1)):
        return "rows of an operand are strided"
    if any(type(n) is int and n == 0 for n in (*q.shape, k.shape[-1])):
        return "there are no elements"
    return kernel_refusal(q) or _value_refusal(q, v) or _mask_refusal(found, q, product)


def _value_refusal(q: Tensor, v: Tensor) -> str | None:
    """Why values of another head size than the query's have no fused kernel that is faster, or None."""
    sizes = q.shape[-1], v.shape[-1]
    if _same(sizes[:1], sizes[1:]):
        return None
    if q.device.type != "cuda" or any(type(n) is not int or n > WIDEST_UNEQUAL for n in sizes):
        return f"the head sizes differ, and there is no GPU or one is above {WIDEST_UNEQUAL}"
    return kernel_refusal(v)


def kernel_refusal(q: Tensor) -> str | None:
    """Why no fused kernel takes such a query, or such values, or is as accurate as products are, or None."""
    if q.device.type == "cpu":
        return None if q.is_floating_point() and q.dtype.itemsize > 1 else f"no kernel for {q.dtype}"
    if q.device.type != "cuda":
        return f"no kernel for {q.device.type}"
    head = q.shape[-1]
    if not isinstance(head, int) or head % 8 or head > 256:
        return f"no fused kernel has a head size of {head}"
    if q.dtype == torch.float32 and torch.backends.cuda.matmul.fp32_precision != "tf32":
        return "fused kernels compute float32 in TF32, which is not allowed"
    return None if q.dtype in (torch.float32, torch.float16, torch.bfloat16) else f"no kernel for {q.dtype}"


def _mask_refusal(found: Attention, q: Tensor, scores: Tensor) -> str | None:
    if found.mask is None:
        return None
    mask = example(found.mask)
    if mask is None or mask.device != q.device or not 1 <= mask.dim() <= scores.dim():
        return "the mask is no tensor on the device"
    if not _same(mask.shape[-1:], scores.shape[-1:]) or mask.requires_grad:
        return "the mask is broadcast over the keys or needs a gradient"
    if found.filled is None:
        return None if mask.dtype == q.dtype else "the mask has another dtype"
    if mask.dtype == torch.bool and found.filled.value < float("inf"):
        return None
    return "the mask is not bool, or fills in NaN or inf"


def _surroundings(found: Attention, memory: SharedMemory) -> str | None:
    """The fused op runs where the last product did, and no step runs: what it reads must still be what the
    steps read, and nobody may read what a step wrote."""
    node, steps = found.steps[-1], set(found.steps)
    operands = [n for n in (found.query, found.key, found.value, found.mask) if n is not None]
    for step in steps:
        for written in memory.effects[step].writes:
            if not steps.issuperset(memory.sharing(written)):
                return f"{step.name} writes to memory of others"
    while node is not found.steps[0]:
        node = node.next
        if node in steps:
            continue
        effect = memory.effects[node]
        if effect.opaque or any(memory.shares(w, o) for w in effect.writes for o in (*operands, *steps)):
            return f"{node.name} runs between the steps and may write"
    return None


def _replace(graph: Graph, found: Attention) -> None:
    """Puts the fused op in the place of the last product and removes the steps.

    3-D operands get a batch of one.
    """
    last, q, scores = found.steps[0], example(found.query), example(found.steps[-1])
    assert q is not None and scores is not None, "refused without example values"
    fused = found.fused
    with graph.inserting_before(last):
        emit = partial(new_node, graph, like=last)
        query, key, mask = _operands(emit, found, q)
        value = found.value
        guard = None
        if loses_rows(q):
            guard = row_guard(emit, fused, query, key, mask)
            query = emit("add", query, guard) if found.differentiated else query
        if found.differentiated and fused.kind != "keys":
            key = centre_keys(emit, key, q)
        out = _split(emit, found, q, query, key, value, mask)
        if out is None:
            operands = [query, key, value]
            if scores.dim() == 3:
                operands = [emit("unsqueeze", operand, 0) for operand in operands]
                mask = emit("unsqueeze", mask, 0) if mask is not None else None
            how = {"is_causal": True} if fused.kind == "causal" else {"attn_mask": mask}
            out = emit(F.scaled_dot_product_attention, *operands, **how, scale=float(found.scale))
            if scores.dim() == 3:
                out = emit("squeeze", out, 0)
        if guard is not None:
            out = emit("add", out, guard)
        if not _merges_heads(last, q, found.value):
            out = emit("contiguous", out)
    out.meta = dict(last.meta)
    last.replace_all_uses_with(out)
    for step in found.steps:
        graph.erase_node(step)


def _operands(emit: Emit, found: Attention, q: Tensor) -> tuple[Node, Node, Node | None]:
    """The query, the keys ``[.., s, d]`` and the mask of the fused op, all with as many dims."""
    query, key, mask = found.query, emit("transpose", found.key, -2, -1), found.mask
    given, kind = example(mask), found.fused.kind
    if mask is None or given is None or kind in ("none", "causal"):
        return query, key, None
    for _ in range(q.dim() - given.dim()):
        mask = emit("unsqueeze", mask, 0)
    if kind == "shifted":
        return shift_keys(emit, query, key, mask, q.dtype)
    if found.filled is None:
        return query, key, mask if found.fused.every_row else add_checked(emit, mask, q.dtype)
    hidden = mask if found.filled.where_true else emit(torch.logical_not, mask)
    return hide_keys(emit, query, key, hidden, found.filled.value, q, differentiated=found.differentiated)


def loses_rows(q: Tensor) -> bool:
    """Whether the kernels give 0 for rows whose scores are all NaN or all -inf."""
    return q.device.type == "cpu"


def _split(
    emit: Emit, found: Attention, q: Tensor, query: Node, key: Node, value: Node, mask: Node | None
) -> Node | None:
    """Products over parts of the keys (``attention_splits.py``), where they are estimated to be faster."""
    k, v, given = example(found.key), example(found.value), example(found.mask)
    if mask is None or k is None or v is None or given is None or q.dim() != 4:
        return None
    if torch.is_autocast_enabled("cuda"):
        return None
    full = given.new_empty((1,) * (4 - given.dim()) + tuple(given.shape), dtype=q.dtype)
    sizes = masked_attention(q, k.transpose(-2, -1), v, full, grouped=False)
    parts = 1 if isinstance(sizes, str) else parts_of(sizes, q.device)
    if isinstance(sizes, str) or parts == 1:
        return None
    by = KeySplit(sizes, parts, float(found.scale), q.dtype, q.device.type)
    return split_attention(emit, by, query, key, value, mask, full)


def _merges_heads(out: Node, q: Tensor, value: Node) -> bool:
    """Whether ``[b, h, t, d]`` is only made ``[b, t, h * d]``: with the same strides from any fused kernel.

    They give ``[b, t, h, d]`` in memory or the layout of ``q``, so that has to be one of the usual two, and
    ``value`` of as many numbers a head.
    """
    v = example(value)
    if q.dim() != 4 or v is None or not _same(q.shape[-1:], v.shape[-1:]) or not merges_heads(out):
        return False
    b, h, t, d = q.stride()
    usual = ((b, t, h, d), (b, h, t, d))
    return any(all(statically_known_true(x >= y) for x, y in pairwise(order)) for order in usual)


def _call(node: Any) -> tuple[str, dict[str, Any]]:
    """The step that a node is, and its arguments by name; ("", {}) for any other value or odd arguments."""
    if not isinstance(node, Node) or node.op not in ("call_function", "call_method"):
        return "", {}
    step, names = _CALLS.get(node.target, ("", ()))
    if step == "cast":
        return step, {"input": node.args[0]}
    if len(node.args) > len(names) or not node.kwargs.keys() <= set(names):
        return "", {}
    arguments = dict(zip(names, node.args, strict=False)) | node.kwargs
    return (step, arguments) if set(names[: _REQUIRED.get(step, 0)]) <= arguments.keys() else ("", {})


def _is_cast(node: Node) -> bool:
    """Whether a conversion keeps the device and makes one floating dtype of another."""
    before, after = example(node.args[0]), example(node)
    if before is None or after is None:
        return False
    return before.is_floating_point() and after.is_floating_point() and before.device == after.device


def _same(left: Any, right: Any) -> bool:
    """Equal sizes for every value of the symbols in them; adds no guard."""
    pairs = zip(left, right, strict=False)
    return len(left) == len(right) and all(statically_known_true(a == b) for a, b in pairs)


__all__ = [
    "DERIVED",
    "STEPS",
    "Attention",
    "fuse_attention",
    "kernel_refusal",
    "loses_rows",
    "multiplies",
    "recognize",
]
