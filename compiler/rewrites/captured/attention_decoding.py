"""A few queries against keys that are made from fewer bytes, or looked up, stay spelled out: one kernel reads
those bytes.

Before, decoding of heads that share keys, with a cache in bytes::

    k = (cache_k.to(q.dtype) * scales_k).repeat_interleave(4, 1)
    v = (cache_v.to(q.dtype) * scales_v).repeat_interleave(4, 1)
    out = softmax(q @ k.transpose(-2, -1) * scale + mask, -1) @ v

After, the same, with a mark at the last product, which ``attention`` then leaves alone.  As operands of
``scaled_dot_product_attention``, which it would call, k and v are written to memory first.  Now
``choose-libraries`` finds that one kernel of both products takes less time, ``derive-cascades`` makes it, and
``split-reductions`` gives the keys of a head to several programs.  One query of 32 heads that share 8, 16
sequences of 8192 keys of 128: in bfloat16 an H200 takes 146 us instead of 1146, in bytes with scales 125
instead of 1092.

Pages of a cache, which a table names, are read as they lie, too::

    k, v = (cache[table].flatten(1, 2).transpose(1, 2) for cache in (cache_k, cache_v))

It fires on a GPU, for at most 16 queries and at least 256 keys, where the kernel is estimated to take less
time than the call and what writes its operands (``cost/attention.py``).  It does not fire where keys and
values lie in memory as they are read, where gradients are asked for, for sizes that are unknown while
compiling, nor under an option that makes no such kernel: ``products`` other than ``auto``, or
``rounding="eager"``.

Why not an MLIR pass: ``attention`` makes the call before AOTAutograd traces the graph.
"""

import logging
import operator

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from ...cost.attention import WidenedCache
from ..rewriting import rewrite
from .attention import DERIVED, recognize
from .attention_splits import hardware_of
from .matching import example, rewrite_graphs

log = logging.getLogger(__name__)

#: The most queries and the fewest keys of a head that were measured.
_MOST_QUERIES, _FEWEST_KEYS = 16, 256
#: Functions, and names of methods, whose results a kernel computes where it reads them: of the first tensor,
#: and of all.
_MOVED = (
    *(
        "view",
        "reshape",
        "transpose",
        "permute",
        "unsqueeze",
        "squeeze",
        "flatten",
        "unflatten",
        "contiguous",
    ),
    *(
        "expand",
        "expand_as",
        "repeat_interleave",
        "repeat",
        "getitem",
        "mT",
        "to",
        "float",
        "half",
        "bfloat16",
    ),
    *("type_as", "clone"),
)
#: What looks numbers up at computed indices if it has another tensor, such as the pages of a cache.
_LOOKED_UP = ("getitem", "index_select")
_COMPUTED = ("mul", "sub", "add", "truediv", "div", "multiply")


@rewrite(
    "attention-decoding",
    "a few queries against keys made from fewer bytes, or of pages, stay spelled out: one kernel reads these",
)
def keep_decoding(gm: GraphModule) -> int:
    """Marks each such attention of a captured graph, and of the graphs inside it; how many.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``.
    """
    return rewrite_graphs(gm, _keep)


def _keep(graph: Graph) -> int:
    return sum(_marks(node) for node in graph.nodes if _may_be_decoding(node))


def _may_be_decoding(node: Node) -> bool:
    """Whether a node is a product of few rows and many columns times a matrix: cheap to ask of all nodes."""
    out = example(node)
    if out is None or out.dim() != 4 or out.device.type != "cuda" or _name(node) not in ("matmul", "bmm"):
        return False
    return out.dtype in (torch.bfloat16, torch.float16) and all(type(n) is int for n in out.shape)


def _marks(node: Node) -> bool:
    found = recognize(node)
    if isinstance(found, str) or found.differentiated:
        return False
    q, k, v = (example(n) for n in (found.query, found.key, found.value))
    assert q is not None and k is not None and v is not None, "refused without example values"
    if q.shape[2] > _MOST_QUERIES or not all(type(n) is int for n in k.shape) or k.shape[-1] < _FEWEST_KEYS:
        return False
    read, looked_up = _sources(found.key, found.value)
    if not all(type(n) is int for value in read for n in value.shape):
        return False
    converted = sum(value.numel() for value in read if value.element_size() < q.element_size())
    cache = WidenedCache(sum(map(_bytes, read)), _bytes(k) + _bytes(v), converted)
    hardware = hardware_of(q.device)
    kernel, call = cache.kernel_us(hardware), cache.call_us(hardware)
    if (cache.made <= cache.read and not looked_up) or kernel > hardware.rates.attention.margin * call:
        return False
    log.info("%s stays spelled out: %.1f us as a kernel, %.1f as a call", node.name, kernel, call)
    node.meta[DERIVED] = True
    return True


def _sources(*nodes: Node) -> tuple[list[Tensor], bool]:
    """What lies in memory of which nodes are made by kernels that fuse with what reads them, and whether some
    of it is looked up, which a call takes a copy of.
    """
    found, looked_up, seen, pending = list[Tensor](), False, set[Node](), [*nodes]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        name, inputs = _name(node), [n for n in node.all_input_nodes if example(n) is not None]
        looks_up = name in _LOOKED_UP and len(inputs) > 1
        looked_up = looked_up or looks_up
        if name in _COMPUTED and inputs:
            pending += inputs
        elif not looks_up and name in _MOVED and inputs:
            pending.append(inputs[0])
        elif (value := example(node)) is not None:
            found.append(value)
    return found, looked_up


def _name(node: Node) -> str:
    """The name of a function or method that is called, "" of others."""
    if node.op == "call_method":
        return str(node.target)
    if node.target is getattr:
        return str(node.args[1])
    if node.op != "call_function":
        return ""
    return "mul" if node.target is operator.imul else str(getattr(node.target, "__name__", ""))


def _bytes(value: Tensor) -> int:
    return int(value.numel() * value.element_size())


__all__ = ["keep_decoding"]
