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
while compiling; where an op may write, through any view, to what the mask is computed from; where queries and
keys differ in number; nor on any other mask, a sliding window for example.

A NaN or an infinite number in a key or value that a row does not see is lost: a fused kernel does not read
it, where a mask that is added makes it NaN.

Why not an MLIR pass: torch chooses the attention kernel, and its backward, by these arguments when
AOTAutograd traces the op."""

import logging
import operator
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, GraphModule, Node
from torch.nn import functional as F

from ..rewriting import rewrite
from .known_values import KnownValues
from .matching import example, rewrite_graphs
from .memory import SharedMemory

log = logging.getLogger(__name__)

_ARGUMENTS = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")


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
    attentions = [n for n in graph.nodes if n.target is F.scaled_dot_product_attention]
    if not attentions:
        return 0
    memory = SharedMemory(graph)
    known = KnownValues(memory)
    kinds: dict[Node, str] = {}
    return sum(_simplify(node, known, memory, kinds) for node in attentions)


def attention_arguments(node: Node) -> dict[str, Any]:
    """The arguments of a ``scaled_dot_product_attention``, by name; those that are not given are missing."""
    return dict(zip(_ARGUMENTS, node.args, strict=False)) | node.kwargs


def _simplify(node: Node, known: KnownValues, memory: SharedMemory, kinds: dict[Node, str]) -> bool:
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
        kinds[mask] = mask_kind(known.tensor(mask), sizes)
    if not kinds[mask]:
        smaller = _smaller(mask, sizes, known, memory)
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


def _smaller(mask: Node, sizes: tuple[int, int], known: KnownValues, memory: SharedMemory) -> Node | None:
    """What a bias with hidden keys is without its batch, a node, or None where that says nothing less."""
    value = example(mask)
    if mask.target is not torch.where or len(mask.args) != 3 or mask.kwargs or value is None:
        return None
    seen, bias, _ = mask.args
    added = example(bias)
    if not isinstance(seen, Node) or added is None or memory.writers(mask) or memory.writers(bias):
        return None
    if value.dim() != 4 or added.dtype != value.dtype:
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
def _seen_by_all(seen: Node, known: KnownValues) -> str:
    """``open`` (every key is seen), ``same`` (each of a batch sees the same keys) or "" for anything else."""
    value = known.tensor(seen)
    if value is None or value.dtype != torch.bool or value.numel() == 0:
        return ""
    if bool(value.all()):
        return "open"
    return "same" if value.dim() == 4 and len(value) > 1 and bool((value == value[:1]).all()) else ""


@unset_fake_temporarily()
def mask_kind(value: Tensor | None, sizes: tuple[Any, ...]) -> str:
    """``causal``, ``open`` (every key is seen) or "" for any other mask, and for one that is not known.

    value: bool, true at keys that are seen, or what is added to the scores; on the CPU.  sizes: how many
    queries and keys there are.
    """
    if value is None:
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


__all__ = ["attention_arguments", "mask_kind", "simplify_masks"]
