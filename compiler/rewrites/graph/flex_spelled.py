"""``flex_attention`` and its gradient as ops of torch that compute them: what a rewrite puts in the place of
a call.  A helper of ``flex_kernels.py`` and ``flex_gradients.py``.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._guards import detect_fake_mode
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...fx.graph_text import held
from ...fx.new_node import origin_of
from .flex_masks import LookUps, NotRead, look_ups, read_mask, read_score

#: Places in the tuple of a ``BlockMask``: numbers and indices of the key blocks of each block of rows, those
#: that are masked in part and the full ones; sizes of blocks from the end, in front of the mask function.
_PARTIAL, _FULL, _BLOCK = slice(2, 4), slice(4, 6), slice(-3, -1)
#: The size of a block where no mask is given.
_NO_BLOCKS = 1 << 30

Decompositions = Mapping[Any, Callable[..., Any]]


@dataclass(frozen=True)
class FlexGraph:
    """A graph of AOTAutograd, and whether each ``flex_attention`` that can be is spelled out, and each
    gradient of it.  hardware: gives the model that decides the others.  decompositions: gives torch's ops
    that become simpler ones, as AOTAutograd is given them.
    """

    gm: GraphModule
    forced: bool
    gradients: bool
    hardware: Callable[[], Hardware]
    decompositions: Callable[[], Decompositions]


@dataclass(frozen=True)
class FlexCall:
    """A call of the op or of its gradient.  ``masked``: whether its mask hides any scores.  ``by_tables``:
    whether the tables of its blocks bound the keys, as what the mask compares does not.  ``look_ups``:
    what its score function looks up for each row and key.  ``choice``: whether its mask is a choice of two.
    """

    node: Node
    masked: bool
    by_tables: bool
    look_ups: LookUps
    choice: bool

    @staticmethod
    def of(gm: GraphModule, node: Node, score: int, blocks: int) -> "FlexCall":
        """``score`` and ``blocks``: the places of the score function and of the ``BlockMask`` among the
        arguments.  Raises NotRead where a call cannot be spelled out.
        """
        if any(user.target is not operator.getitem for user in node.users):
            raise NotRead("its results are read as a tuple")
        query, key = (node.args[n].meta["val"] for n in (0, 1))  # type: ignore[union-attr]
        if query.dtype not in (torch.bfloat16, torch.float16):
            raise NotRead("tensor cores do not multiply its dtype exactly")
        changes = function_of(gm, node.args[score])
        read_score(changes)
        table: Any = node.args[blocks]
        mask = read_mask(function_of(gm, table[-1]))
        whole = _covers(table, query, key)
        if mask.open and not whole:
            raise NotRead("only the tables of its blocks mask scores")
        return FlexCall(node, not mask.open, mask.by_tables and not whole, look_ups(changes), mask.choice)

    def spell_out(self, flex: FlexGraph, results: Callable[..., Sequence[Callable[[], Tensor]]]) -> None:
        """Puts steps in place of the call.  ``results`` takes this call and its arguments, and gives a
        function for each result.
        """
        node, gm = self.node, flex.gm
        taken = sorted({int(user.args[1]) for user in node.users})  # type: ignore[call-overload]
        operands = [n for n in node.all_input_nodes if n.op != "get_attr"]
        attributes = {n: held(gm, str(n.target)) for n in node.all_input_nodes if n.op == "get_attr"}
        wanted = [node.meta["val"][position] for position in taken]

        def spelled(*values: Any) -> tuple[Tensor, ...]:
            given = {**attributes, **dict(zip(operands, values, strict=True))}
            gives = results(self, *map_arg(node.args, given.__getitem__))
            made = [gives[position]() for position in taken]
            return tuple(_strided_as(m, w) for m, w in zip(made, wanted, strict=True))

        traced = _traced(spelled, [n.meta["val"] for n in operands], flex.decompositions())
        found = inline(traced, operands, node)
        for user in list(node.users):
            user.replace_all_uses_with(found[taken.index(user.args[1])])  # type: ignore[arg-type]
            node.graph.erase_node(user)
        node.graph.erase_node(node)

    def scores(
        self,
        q: Tensor,
        k: Tensor,
        score: GraphModule,
        blocks: tuple[Any, ...],
        scale: float,
        of_score: tuple[Any, ...],
        of_mask: tuple[Any, ...],
    ) -> "Scores":
        """The scores of rows of ``q`` and keys ``k``, one for each head."""
        places = tuple(_along(q, k, dim) for dim in range(4))
        products = (q @ k.transpose(-2, -1)).to(torch.float32) * scale
        changed = score(products, *places, *of_score).to(torch.float32)
        seen = None
        if self.masked:
            seen = blocks[-1](*places, *of_mask)
            if self.by_tables:
                first, last = (_of_rows(t, blocks[_BLOCK][0], q.shape[-2]) for t in _bounds(blocks))
                seen = (places[3] >= first) & (places[3] < last) & seen
        return Scores(products, places, changed, seen)


@dataclass(frozen=True)
class Scores:
    """Of four dims, in float32.  ``products``: times the scale.  ``places``: the numbers of each dim.
    ``changed``: what the score function makes of them.  ``seen``: where none is masked, or None.
    """

    products: Tensor
    places: tuple[Tensor, ...]
    changed: Tensor
    seen: Tensor | None

    def where_seen(self, value: Tensor, masked: float) -> Tensor:
        """A value of each score, and ``masked`` where a score is masked."""
        return value if self.seen is None else torch.where(self.seen, value, masked)


def function_of(gm: GraphModule, node: Any) -> GraphModule:
    """The graph that an argument is.  Raises NotRead where it is none."""
    found = held(gm, str(node.target)) if isinstance(node, Node) and node.op == "get_attr" else None
    if not isinstance(found, GraphModule):
        raise NotRead("a function is no graph")
    return found


def for_each_head(q: Tensor, t: Tensor) -> Tensor:
    """Keys or values, repeated for the heads of the query that share them, and for its batch."""
    if t.shape[1] != q.shape[1]:
        t = t.repeat_interleave(q.shape[1] // t.shape[1], 1)
    return t.expand(q.shape[0], *t.shape[1:])


def _covers(blocks: Any, query: Tensor, key: Tensor) -> bool:
    """Whether there is one block, which all rows and keys are in: no mask was given."""
    sizes = zip(blocks[_BLOCK], (query.shape[-2], key.shape[-2]), strict=True)
    return all(block >= _NO_BLOCKS or (isinstance(n, int) and n <= block) for block, n in sizes)


def _traced(function: Callable[..., Any], values: list[Any], decompositions: Decompositions) -> GraphModule:
    """The graph of a function of values like these, in ops that the importer builds."""
    trace = make_fx(function, decomposition_table=decompositions, tracing_mode="symbolic")
    with mock.patch.object(detect_fake_mode(values), "allow_non_fake_inputs", True):  # the functions' numbers
        traced: GraphModule = trace(*values)
    traced.graph.eliminate_dead_code()
    return traced


def _along(q: Tensor, k: Tensor, dim: int) -> Tensor:
    """The numbers of a dim of the scores, of four dims."""
    size = k.shape[-2] if dim == 3 else q.shape[dim]
    return torch.arange(size, device=q.device).view(*(-1 if d == dim else 1 for d in range(4)))


def _of_rows(bounds: Tensor, block: int, rows: Any) -> Tensor:
    """Numbers for each block of rows, for each row: ``[b, h, blocks]`` to ``[b, h, rows, 1]``."""
    each = bounds.unsqueeze(-1).expand(*bounds.shape, block).flatten(-2)
    return each[..., :rows].unsqueeze(-1)


def _bounds(blocks: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    """Of each block of rows, the first key that a block admits, and the one behind the last."""
    size = blocks[_BLOCK][1]
    firsts, lasts = [], []
    for numbers, indices in (blocks[_PARTIAL], blocks[_FULL]):
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


#: The logarithm of 2: the op gives and takes logarithms to this base.
LOG_2 = math.log(2)


def inline(traced: GraphModule, operands: Sequence[Node], node: Node) -> Sequence[Node]:
    """Copies the nodes of a graph in front of ``node``, with its origin; what the graph returns, a tuple.

    traced: a graph with ``meta["val"]``, without functions in it.  operands: what stands for its arguments.
    """
    graph, owner = node.graph, node.graph.owning_module
    inside = dict[Node, Any](zip(traced.graph.find_nodes(op="placeholder"), operands, strict=True))
    with graph.inserting_before(node):
        for inner in traced.graph.nodes:
            if inner.op == "output":
                return [inside[result] for result in inner.args[0]]
            if inner.op == "get_attr":
                value = held(traced, str(inner.target))
                name = f"{node.name}_constant"
                while hasattr(owner, name):
                    name += "_"
                setattr(owner, name, value)
                inside[inner] = graph.get_attr(name)
            elif inner.op != "placeholder":
                inside[inner] = graph.node_copy(inner, inside.__getitem__)
            else:
                continue
            inside[inner].meta = origin_of(node)
            if "val" in inner.meta:
                inside[inner].meta["val"] = inner.meta["val"]
    raise AssertionError("the graph has no output")


__all__ = ["LOG_2", "FlexCall", "FlexGraph", "Scores", "for_each_head", "function_of"]
