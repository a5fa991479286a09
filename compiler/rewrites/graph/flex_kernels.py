"""``flex_attention`` is spelled out where one kernel of its two products takes less time than Inductor's.

Before::

    both = higher_order.flex_attention(q, k, v, score, blocks, 0.125, {}, (bias,), ())
    y = both[0]

After, for a ``score`` that adds ``bias[h, i - j]``, and a mask ``i >= j``::

    s = (q @ k.mT).float() * 0.125
    x = where(i >= j, s + bias[h, i - j], -inf)
    y = where(amax(x, -1) == -inf, 0, softmax(x, -1) @ v)

``derive-cascades`` makes one kernel of that, which fuses with what is around it.  The functions are computed
for each score, whatever they are made of, so nothing in them crosses the keys.  A row that admits no key is
0, as torch defines the op; its logarithm of a sum is -inf.

Keys that the mask does not admit are left out as far as the kernel reads its comparisons: an order of ``i``
and ``j``, or of ``j`` and a number that is looked up for a row.  A mask that compares two look-ups, such as
those of documents, says nothing of the kind, so the tables of the ``BlockMask`` bound the keys of each block
of rows, in front of the mask::

    x = where((first[i // 128] <= j) & (j < last[i // 128]) & (document[i] == document[j]), s, -inf)

It fires where tensor cores multiply the operands, and the sizes and the GPU are such that the kernel was
measured to take less time (``cost/attention.py``); with ``flex_attention="generated"`` wherever the functions
allow it.  It does not fire

- where a function does more than compute each score by itself, or is not read by the rules above: what only
  tables of blocks say, and a choice between masks (``|``) that bounds keys from both sides;
- where all scores are admitted by the mask function but not by the tables, as eager does not look at these;
- with ``rounding="eager"``, where no chain of products runs on line.

Why not an MLIR pass: the functions are FX graphs, and the op is a call of Inductor where it stays.
"""

import logging
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._guards import detect_fake_mode
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg

from ...base.dataclass import dataclass
from ...fx.graph_text import held
from ...fx.new_node import tidied
from ..rewriting import rewrite
from .flex_masks import NotRead, read_mask, read_score
from .inlining import inline

log = logging.getLogger(__name__)

_aten = torch.ops.aten
#: Places in the tuple of a ``BlockMask``: numbers and indices of the key blocks of each block of rows, those
#: that are masked in part and the full ones; sizes of blocks from the end, in front of the mask function.
_PARTIAL, _FULL, _BLOCK = (2, 3), (4, 5), slice(-3, -1)
#: The size of a block where no mask is given.
_NO_BLOCKS = 1 << 30


@dataclass(frozen=True)
class FlexGraph:
    """A graph of AOTAutograd, and whether each ``flex_attention`` that can be is spelled out.
    decompositions: gives torch's ops that become simpler ones, as AOTAutograd is given them.
    """

    gm: GraphModule
    forced: bool
    decompositions: Callable[[], Mapping[Any, Callable[..., Any]]]


@rewrite("flex-kernels", "flex_attention is spelled out, as one kernel of its products is faster")
def spell_flex_attention(flex: FlexGraph) -> int:
    """Rewrites a graph with ``meta["val"]`` in place; how many calls are spelled out."""
    count = 0
    for node in flex.gm.graph.find_nodes(op="call_function", target=torch.ops.higher_order.flex_attention):
        try:
            call = _Call.of(flex.gm, node)
            if not flex.forced:
                call.weigh()
        except NotRead as reason:
            log.debug("%s stays: %s", node.name, reason)
            continue
        call.spell_out(flex)
        count += 1
    return tidied(flex.gm, count)


@dataclass(frozen=True)
class _Call:
    """``flex_attention``: its node, and what its mask says."""

    node: Node
    masked: bool
    looked_up: bool

    @staticmethod
    def of(gm: GraphModule, node: Node) -> "_Call":
        """Raises NotRead where a call cannot be spelled out."""
        if any(user.target is not operator.getitem for user in node.users):
            raise NotRead("its results are read as a tuple")
        query, key, score, blocks = (node.args[n] for n in (0, 1, 3, 4))
        if query.meta["val"].dtype not in (torch.bfloat16, torch.float16):  # type: ignore[union-attr]
            raise NotRead("tensor cores do not multiply its dtype exactly")
        read_score(_function(gm, score))
        mask = read_mask(_function(gm, blocks[-1]))  # type: ignore[index]
        whole = _covers(blocks, query.meta["val"], key.meta["val"])  # type: ignore[union-attr]
        if mask.open and not whole:
            raise NotRead("only the tables of its blocks mask scores")
        return _Call(node, not mask.open, mask.looked_up and not whole)

    def weigh(self) -> None:
        """Raises NotRead where Inductor's kernel is estimated to take less time."""
        raise NotRead("its time was not measured")

    def spell_out(self, flex: FlexGraph) -> None:
        """Puts the steps in place of the call."""
        node, gm = self.node, flex.gm
        taken = sorted({int(user.args[1]) for user in node.users})  # type: ignore[call-overload]
        operands = [n for n in node.all_input_nodes if n.op != "get_attr"]
        attributes = {n: held(gm, str(n.target)) for n in node.all_input_nodes if n.op == "get_attr"}
        wanted = [node.meta["val"][position] for position in taken]

        def spelled(*values: Any) -> tuple[Tensor, ...]:
            given = {**attributes, **dict(zip(operands, values, strict=True))}
            results = self._results(*map_arg(node.args, given.__getitem__))
            made = [results[position]() for position in taken]
            return tuple(_strided_as(m, w) for m, w in zip(made, wanted, strict=True))

        traced = _traced(spelled, [n.meta["val"] for n in operands], flex.decompositions())
        results = inline(traced, operands, node)
        for user in list(node.users):
            user.replace_all_uses_with(results[taken.index(user.args[1])])  # type: ignore[arg-type]
            node.graph.erase_node(user)
        node.graph.erase_node(node)

    def _results(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        score: GraphModule,
        blocks: tuple[Any, ...],
        scale: float,
        options: Any,
        of_score: tuple[Any, ...] = (),
        of_mask: tuple[Any, ...] = (),
    ) -> tuple[Callable[[], Tensor], ...]:
        """What gives the result, the logarithm of the sum of each row, and its largest score, both in units
        of log 2.
        """
        k, v = _for_each_head(q, k), _for_each_head(q, v)
        places = tuple(_along(q, k, dim) for dim in range(4))
        scores = (q @ k.transpose(-2, -1)).to(torch.float32) * scale
        x = _for_each_score(score, (scores, *places), of_score).to(torch.float32)
        if self.masked:
            seen = _for_each_score(blocks[-1], places, of_mask)
            if self.looked_up:
                first, last = (_of_rows(t, blocks[_BLOCK][0], q.shape[-2]) for t in _bounds(blocks))
                seen = (places[3] >= first) & (places[3] < last) & seen
            x = torch.where(seen, x, -math.inf)

        def result() -> Tensor:
            empty = logarithm().unsqueeze(-1) == -math.inf
            return torch.where(empty, 0, torch.softmax(x, -1).to(q.dtype) @ v)

        def logarithm() -> Tensor:
            return x.logsumexp(-1)

        return result, lambda: logarithm() / math.log(2), lambda: x.amax(-1) / math.log(2)


def _function(gm: GraphModule, node: Any) -> GraphModule:
    found = held(gm, str(node.target)) if isinstance(node, Node) and node.op == "get_attr" else None
    if not isinstance(found, GraphModule):
        raise NotRead("a function is no graph")
    return found


def _covers(blocks: Any, query: Tensor, key: Tensor) -> bool:
    """Whether there is one block, which all rows and keys are in: no mask was given."""
    sizes = zip(blocks[_BLOCK], (query.shape[-2], key.shape[-2]), strict=True)
    return all(block >= _NO_BLOCKS or (isinstance(n, int) and n <= block) for block, n in sizes)


def _traced(
    function: Callable[..., Any], values: list[Any], decompositions: Mapping[Any, Callable[..., Any]]
) -> GraphModule:
    """The graph of a function of values like these, in ops that the importer builds."""
    trace = make_fx(function, decomposition_table=decompositions, tracing_mode="symbolic")
    with mock.patch.object(detect_fake_mode(values), "allow_non_fake_inputs", True):  # the functions' numbers
        traced: GraphModule = trace(*values)
    traced.graph.eliminate_dead_code()
    return traced


def _for_each_head(q: Tensor, t: Tensor) -> Tensor:
    """Keys or values, repeated for the heads of the query that share them, and for its batch."""
    t = t.repeat_interleave(q.shape[1] // t.shape[1], 1)
    return t.expand(q.shape[0], *t.shape[1:])


def _along(q: Tensor, k: Tensor, dim: int) -> Tensor:
    """The numbers of a dim of the scores, of four dims."""
    size = k.shape[-2] if dim == 3 else q.shape[dim]
    return torch.arange(size, device=q.device).view(*(-1 if d == dim else 1 for d in range(4)))


def _for_each_score(function: GraphModule, given: tuple[Tensor, ...], captured: tuple[Any, ...]) -> Tensor:
    """What a function of single numbers gives for tensors of them, which have four dims or broadcast."""
    return function(*given, *captured)  # type: ignore[no-any-return]


def _of_rows(bounds: Tensor, block: int, rows: Any) -> Tensor:
    """Numbers for each block of rows, for each row: ``[b, h, blocks]`` to ``[b, h, rows, 1]``."""
    each = bounds.unsqueeze(-1).expand(*bounds.shape, block).flatten(-2)
    return each[..., :rows].unsqueeze(-1)


def _bounds(blocks: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    """Of each block of rows, the first key that a block admits, and the one behind the last."""
    size = blocks[_BLOCK][1]
    firsts, lasts = [], []
    for numbers, indices in (blocks[slice(p[0], p[1] + 1)] for p in (_PARTIAL, _FULL)):
        if numbers is None:
            continue
        place = torch.arange(indices.shape[-1], device=indices.device)
        counted = place < numbers.unsqueeze(-1)
        firsts.append(torch.where(counted, indices, indices.shape[-1]).amin(-1))
        lasts.append(torch.where(counted, indices + 1, 0).amax(-1))
    first, last = firsts[0], lasts[0]
    if len(firsts) > 1:
        first, last = torch.minimum(*firsts), torch.maximum(*lasts)
    return first * size, last * size


def _strided_as(made: Tensor, wanted: Tensor) -> Tensor:
    """A tensor with the order of dims in memory of another one, which has no gaps."""
    order = sorted(range(wanted.dim()), key=lambda d: wanted.stride(d), reverse=True)
    if order == [*range(wanted.dim())]:
        return made.contiguous()
    back = [order.index(d) for d in range(wanted.dim())]
    return made.permute(order).contiguous().permute(back)


__all__ = ["FlexGraph", "spell_flex_attention"]
