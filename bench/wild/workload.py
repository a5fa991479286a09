"""How a workload of the suite `wild` is written: a function that makes a function and its arguments."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from ..graph import Built, Graph, Source

#: From (source, *sizes) to a function, its arguments and, where it has no float64 form, one that has.
Make = Callable[..., tuple[Any, ...]]

FLOAT32 = (torch.float32,)
BFLOAT16 = (torch.bfloat16,)


class Workloads(list[Graph]):
    """The workloads of a subject, in order."""

    def add(
        self,
        name: str,
        sizes: tuple[int, ...],
        small: tuple[int, ...],
        dtypes: tuple[torch.dtype, ...] = FLOAT32,
        **fields: Any,
    ) -> Callable[[Make], Make]:
        """Enters what makes a workload; its key is the name with the sizes.  fields: of `Graph`."""

        def enter(make: Make) -> Make:
            def build(source: Source, *chosen: int) -> Built:
                function, args, *exact = make(source, *chosen)
                return Built(function, args, _bytes(function, args), *exact)

            key = "_".join((name, "x".join(map(str, sizes))))
            self.append(Graph(key, build, sizes, small, dtypes, **fields))
            return make

        return enter


def _bytes(function: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """Bytes of all arguments and of all results: what a copy is measured with.  A workload that looks things
    up may need less.
    """
    copies = pytree.tree_map_only(Tensor, Tensor.clone, args)
    with torch.no_grad():
        results = function(*copies)
    tensors = [t for t in pytree.tree_leaves((args, results)) if isinstance(t, Tensor)]
    return sum(t.nbytes for t in tensors)


def lists(source: Source, count: int, tensors: int, *shape: int) -> tuple[list[Tensor], ...]:
    """So many lists of so many tensors of one shape."""
    return tuple([source.normal(*shape) for _ in range(tensors)] for _ in range(count))
