"""A mask of attention that is provably causal is replaced by ``is_causal=True``; one that hides nothing goes.

Before, with a mask computed from ranges and constants, as libraries write it::

    i = torch.arange(512)
    mask = (i[None, :] <= i[:, None]) & torch.ones(512, 512, dtype=torch.bool)
    out = scaled_dot_product_attention(q, k, v, attn_mask=mask)

After::

    out = scaled_dot_product_attention(q, k, v, is_causal=True)

With ``is_causal=True`` a fused kernel reads no mask and computes half of the scores.

Such a mask depends on nothing but the graph, whatever the arguments of the call are: the compiler computes it
on the CPU, by the same calls, and compares it with a causal mask and with one that shows every key.  A bool
mask is compared as it is.  A mask that is added must be 0 where a key is seen and the least number of its
dtype, or -inf, elsewhere: softmax gives 0 there, because each row sees a key.

Where a bias is added to the keys that are seen, ``torch.where(seen, bias, lowest)``, only ``seen`` must be
known.  If every key is seen the bias alone becomes the mask.  If all sequences of a batch see the same keys,
``torch.where(seen[:1], bias, lowest)`` is the mask of all, and the batch times smaller.

It does not fire where the mask depends on an argument, a parameter, a random number or a size that is unknown
while compiling; where an op may write to what the mask is computed from; where queries and keys differ in
number; nor on any other mask, a sliding window for example.

Why not an MLIR pass: torch chooses the attention kernel, and its backward, by these arguments when
AOTAutograd traces the op."""

import logging
import operator
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, GraphModule, Node, map_arg
from torch.nn import functional as F

from ..rewriting import rewrite
from .attention import may_write
from .matching import example, rewrite_graphs

log = logging.getLogger(__name__)

_ARGUMENTS = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")

#: Calls that are computed here: the same numbers on every device, and no state.
_FUNCTIONS = frozenset({
    torch.arange, torch.ones, torch.zeros, torch.full, torch.tril, torch.triu, torch.where, torch.diff,
    torch.cumsum, torch.eq, torch.ne, torch.le, torch.lt, torch.ge, torch.gt, torch.logical_and,
    torch.logical_or, torch.logical_not, torch.bitwise_and, torch.bitwise_or, torch.bitwise_not,
    torch.ones_like, torch.zeros_like, torch.full_like, torch.unsqueeze, torch.masked_fill,
    torch.add, torch.sub, torch.mul, torch.neg,
    operator.add, operator.sub, operator.mul, operator.neg, operator.getitem, operator.and_, operator.or_,
    operator.invert, operator.eq, operator.ne, operator.le, operator.lt, operator.ge, operator.gt,
})  # fmt: skip
_METHODS = frozenset({
    "new_ones", "new_zeros", "new_full", "unsqueeze", "squeeze", "expand", "expand_as", "view", "reshape",
    "transpose", "permute", "t", "repeat", "to", "bool", "float", "half", "bfloat16", "long", "int", "type",
    "cumsum", "diff", "tril", "triu", "contiguous", "clone", "masked_fill", "logical_and", "logical_or",
    "logical_not", "eq", "ne", "le", "lt", "ge", "gt", "add", "sub", "mul", "flatten",
    "__eq__", "__ne__", "__le__", "__lt__", "__ge__", "__gt__", "__add__", "__radd__", "__sub__", "__rsub__",
    "__mul__", "__rmul__", "__neg__", "__and__", "__rand__", "__or__", "__ror__", "__invert__", "__getitem__",
})  # fmt: skip

#: What makes a tensor from nothing, on the current device unless told.
_CREATE = frozenset({torch.arange, torch.ones, torch.zeros, torch.full})

#: No mask is larger: it would be computed on the host.
_LARGEST = 1 << 26


class _Unknown(Exception):
    """A value that depends on more than the graph."""


@rewrite(
    "attention-masks",
    "a mask that the graph alone determines becomes is_causal=True, no mask, or one mask for the whole batch",
)
def simplify_masks(gm: GraphModule) -> int:
    """Rewrites every attention with a known mask in a captured graph and the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.  It is changed in place.
    """
    return rewrite_graphs(gm, _simplify_graph)


def _simplify_graph(graph: Graph) -> int:
    known: dict[Node, Any] = {}
    kinds: dict[Node, str] = {}
    return sum(
        _simplify(node, known, kinds)
        for node in list(graph.nodes)
        if node.target is F.scaled_dot_product_attention
    )


def attention_arguments(node: Node) -> dict[str, Any]:
    """The arguments of a ``scaled_dot_product_attention``, by name; those that are not given are missing."""
    return dict(zip(_ARGUMENTS, node.args, strict=False)) | node.kwargs


def _simplify(node: Node, known: dict[Node, Any], kinds: dict[Node, str]) -> bool:
    arguments = attention_arguments(node)
    mask = arguments.get("attn_mask")
    if not isinstance(mask, Node) or arguments.get("is_causal"):
        return False
    query, key = (example(arguments[name]) for name in ("query", "key"))
    if query is None or key is None:
        return False
    sizes = (query.shape[-2], key.shape[-2])
    if any(type(n) is not int for n in sizes):
        return False
    if mask not in kinds:
        kinds[mask] = _kind(mask, sizes, known)
    if not kinds[mask]:
        smaller = _smaller(mask, sizes, known)
        if smaller is None:
            return False
        log.info("the mask of %s is one for all of the batch", node.name)
        node.args, node.kwargs = (), arguments | {"attn_mask": smaller}
        return True
    log.info("the mask of %s is %s", node.name, kinds[mask])
    arguments["attn_mask"] = None
    arguments["is_causal"] = kinds[mask] == "causal"
    node.args, node.kwargs = (), arguments
    return True


def _smaller(mask: Node, sizes: tuple[int, int], known: dict[Node, Any]) -> Node | None:
    """What a bias with hidden keys is without its batch, a node, or None where that says nothing less."""
    value = example(mask)
    if mask.target is not torch.where or len(mask.args) != 3 or mask.kwargs or value is None:
        return None
    seen, bias, _ = mask.args
    added = example(bias)
    if not isinstance(seen, Node) or added is None or value.dim() != 4 or added.dtype != value.dtype:
        return None
    if added.shape[-2:] != sizes or added.dim() != 4 or added.shape[1] != value.shape[1]:
        return None
    kind = _seen_by_all(seen, known)
    if kind == "open":
        return bias  # type: ignore[return-value]
    if kind != "same" or added.shape[0] != 1:
        return None
    with mask.graph.inserting_before(mask):
        one = mask.graph.call_function(operator.getitem, (seen, slice(0, 1)))
        made = mask.graph.call_function(torch.where, (one, *mask.args[1:]))
    for new, old in ((one, seen), (made, mask)):
        new.meta = dict(old.meta) | {"example_value": old.meta["example_value"][:1]}
    return made


@unset_fake_temporarily()
def _seen_by_all(seen: Node, known: dict[Node, Any]) -> str:
    """``open`` (every key is seen), ``same`` (each of a batch sees the same keys) or "" for anything else."""
    try:
        value = _evaluate(seen, known)
    except _Unknown as reason:
        log.debug("the mask %s is unknown: %s", seen.name, reason)
        return ""
    if not isinstance(value, Tensor) or value.dtype != torch.bool or value.numel() == 0:
        return ""
    if bool(value.all()):
        return "open"
    return "same" if value.dim() == 4 and len(value) > 1 and bool((value == value[:1]).all()) else ""


@unset_fake_temporarily()
def _kind(mask: Node, sizes: tuple[int, int], known: dict[Node, Any]) -> str:
    """``causal``, ``open`` (every key is seen) or "" for any other mask."""
    try:
        value = _evaluate(mask, known)
    except _Unknown as reason:
        log.debug("the mask %s is unknown: %s", mask.name, reason)
        return ""
    if value.dim() < 2 or value.shape[-2:] != sizes:
        return ""
    if value.dtype == torch.bool:
        seen = value
    elif value.is_floating_point():
        seen = value == 0
        if not bool((seen | (value <= torch.finfo(value.dtype).min)).all()):
            return ""
    else:
        return ""
    if bool(seen.all()):
        return "open"
    causal = seen.new_ones(sizes).tril()
    return "causal" if sizes[0] == sizes[1] and bool((seen == causal).all()) else ""


def _evaluate(node: Node, known: dict[Node, Any]) -> Any:
    """What the node computes, on the CPU.  Raises ``_Unknown``."""
    if node in known:
        return known[node]
    for reached in _inputs_first(node, known):
        known[reached] = _call(reached, known)
    return known[node]


def _inputs_first(node: Node, known: dict[Node, Any]) -> list[Node]:
    """The unknown nodes that it is computed from and itself, operands first."""
    found: dict[Node, None] = {}
    waiting = [node]
    while waiting:
        current = waiting[-1]
        missing = [a for a in current.all_input_nodes if a not in known and a not in found]
        if missing and _computed(current):
            waiting += missing
            continue
        _computed(current)
        found[waiting.pop()] = None
    return list(found)


def _computed(node: Node) -> bool:
    """True of a call that is computed here.  Raises ``_Unknown`` for anything else."""
    if not _is_known(node):
        raise _Unknown(f"{node.name} is {node.op} {node.target}")
    value = example(node)
    if value is None or any(type(n) is not int for n in value.shape) or value.numel() > _LARGEST:
        raise _Unknown(f"{node.name} has no size, or a large one")
    writer = next((user for user in node.users if not _is_known(user) and may_write(user)), None)
    if writer is not None:
        raise _Unknown(f"{writer.name} may write to {node.name}")
    return True


def _is_known(node: Node) -> bool:
    calls = {"call_function": _FUNCTIONS, "call_method": _METHODS}.get(node.op, frozenset())
    return node.target in calls and node.kwargs.get("out") is None


def _call(node: Node, known: dict[Node, Any]) -> Any:
    """What the call gives on the CPU; a device, also by its name, becomes that."""
    cpu = torch.device("cpu")
    args = tuple(
        cpu if isinstance(a, torch.device | str) else a for a in map_arg(node.args, known.__getitem__)
    )
    kwargs = dict(map_arg(node.kwargs, known.__getitem__))
    if "device" in kwargs or node.target in _CREATE:
        kwargs["device"] = cpu
    try:
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        return node.target(*args, **kwargs)  # type: ignore[operator]
    except (RuntimeError, TypeError) as error:
        raise _Unknown(f"{node.name} fails on the CPU: {error}") from None


__all__ = ["attention_arguments", "simplify_masks"]
