"""Is a graph's answer right?  Against float64, by the rule of `tolerance.py`, before anything is timed.

Memory that a compiled graph is likely to get for its outputs is filled with NaN before it runs, so that an
element nobody wrote cannot pass by holding an older, right answer.

Where an answer is beyond its limits, numbers at a jump are told from wrong ones (`jumps.py`), and it is
judged again without them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from .graph import Built, Graph
from .jumps import at_jumps
from .models.case import named_tensors
from .randomness import mask_statistics
from .reference import float64_reference
from .tolerance import TensorError, judge_all

Call = Callable[..., Any]


@dataclass(frozen=True)
class GraphVerdict:
    """passed: every tensor is within its limit.   note: the worst tensor in one line, or what is wrong.

    ratio: largest error / limit.   repeatable: two runs gave the same bits.
    norm_error: largest of the tensors' ||out - ref|| / ||ref||; None where no float64 answer exists.
    """

    passed: bool
    note: str
    ratio: float
    repeatable: bool
    norm_error: float | None = None


class GraphChecker:
    """Holds the float64 reference and the eager answer of one graph; judges any number of other runs."""

    def __init__(self, graph: Graph, built: Built) -> None:
        self._graph, self._built = graph, built
        if graph.dropout is None:
            self._reference, self._eager = self._exact(built.args), self._observe(graph.step(built.fn))
            floating = (tensor.dtype for tensor in self._eager.values() if tensor.is_floating_point())
            # the results decide, not the arguments: a float32 mean of bfloat16 is computed in float32
            computed = [dtype for dtype in floating if dtype.itemsize > 1]
            self._eps = graph.slack * max((torch.finfo(dtype).eps for dtype in computed), default=0.0)

    def check(self, call: Call) -> GraphVerdict:
        """Judge `call`, which takes what the graph's function takes. Raises what it raises."""
        if self._graph.dropout is not None:
            return check_dropout(call, *self._built.args, p=self._graph.dropout, then=self._graph.then)
        self._poison()
        first = self._observe(call)
        second = self._observe(call)
        rows, jumps = self._judge(first), 0
        if not all(row.passed for row in rows):
            first_without, jumps = self._without_jumps(first, rows)
            rows = self._judge(first_without) if jumps else rows
        worst = max(rows, key=lambda row: row.ratio)
        passed = all(row.passed for row in rows)
        norms = [row.compiled_norm for row in rows if math.isfinite(row.compiled_norm)]
        note = f"{worst.name}: {_describe(worst)}" + (f", without {jumps} at a jump" if jumps else "")
        return GraphVerdict(passed, note, worst.ratio, _equal(first, second), max(norms, default=None))

    def _judge(self, found: dict[str, Tensor]) -> list[TensorError]:
        """A verdict on each tensor. A quantised tensor is judged by the step of its dtype, as sums in another
        order round a few of its numbers to the neighbour.  Other tensors are judged by the dtype that was
        computed in.
        """
        names = {*self._reference, *self._eager, *found}
        steps = {n: _step(self._eager[n].dtype) for n in names if n in self._eager}
        rows: list[TensorError] = []
        for step in sorted(set(steps.values()) | {0.0}):
            runs = (
                {n: t.float() if step else t for n, t in run.items() if steps.get(n, 0.0) == step}
                for run in (self._reference, self._eager, found)
            )
            rows += judge_all(*runs, step or self._eps)
        return rows

    def _without_jumps(
        self, found: dict[str, Tensor], rows: list[TensorError]
    ) -> tuple[dict[str, Tensor], int]:
        """The answer with its numbers at a jump replaced by the reference's, and how many these are."""
        limits = {
            r.name: r.limit_largest for r in rows if not (r.passed or r.note or _step(found[r.name].dtype))
        }
        jumps = at_jumps(self._exact, self._built.args, self._reference, found, limits)
        settled = {
            name: torch.where(mask, self._reference[name].to(found[name].dtype), found[name])
            for name, mask in jumps.items()
        }
        return {**found, **settled}, sum(int(mask.sum()) for mask in jumps.values())

    def _exact(self, args: tuple[Any, ...]) -> dict[str, Tensor]:
        with float64_reference():
            return self._observe(self._graph.step(self._built.exact or self._built.fn), args, double=True)

    def _observe(
        self, call: Call, args: tuple[Any, ...] | None = None, double: bool = False
    ) -> dict[str, Tensor]:
        """Outputs, and mutated arguments, of one run on copies of the graph's arguments, or of others."""
        args = self._built.args if args is None else args
        copies = pytree.tree_map_only(Tensor, _double if double else Tensor.clone, args)
        with torch.no_grad():
            outputs = call(*copies)
        outs = named_tensors(outputs)
        found = {f"output:{name}" if name else "output": tensor for name, tensor in outs.items()}
        if self._graph.mutates:
            found.update({f"input:{name}": tensor for name, tensor in named_tensors(copies).items()})
        return found

    def _poison(self) -> None:
        """Fill free memory of the outputs' sizes; all bits set is NaN in every floating dtype."""
        sizes = [tensor.numel() * tensor.element_size() for tensor in self._eager.values()]
        device = next(iter(self._eager.values())).device
        blocks = [torch.empty(size, dtype=torch.uint8, device=device) for size in sizes for _ in range(2)]
        for block in blocks:
            block.fill_(0xFF)


def _step(dtype: torch.dtype) -> float:
    """The step of a quantised dtype relative to its largest numbers; 0.0 for every other dtype."""
    if dtype == torch.int8:
        return 1.0 / 127.0
    return torch.finfo(dtype).eps if dtype.is_floating_point and dtype.itemsize == 1 else 0.0


def check_dropout(
    call: Call,
    x: Tensor,
    residual: Tensor,
    *,
    p: float,
    then: Callable[[Tensor], Tensor] | None = None,
) -> GraphVerdict:
    """Judge `call(x, residual) = dropout(x, p) + residual`, whatever its generator; with `then`, the call
    gives the sum and `then` of it.

    The mask's statistics are those of independent draws; one seed gives one mask, another seed another; and
    with the seed fixed the residual is added to exactly what comes out without it. x must hold no zeros.
    """

    def run(seed: int, other: Tensor) -> Tensor:
        torch.manual_seed(seed)
        with torch.no_grad():
            found = call(x.clone(), other.clone())
        if then is None:
            return found
        eager = then(found[0])
        [verdict] = judge_all(
            {"then": then(found[0].double())}, {"then": eager}, {"then": found[1]}, torch.finfo(x.dtype).eps
        )
        judged.append(verdict)
        return found[0]

    judged: list[TensorError] = []
    devices = [x.device] if x.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        alone, added, again, redrawn = (
            run(0, torch.zeros_like(residual)),
            run(0, residual),
            run(0, residual),
            run(1, residual),
        )
    statistics = mask_statistics(x, alone, p)
    eps = torch.finfo(x.dtype).eps
    exact = alone.double() + residual.double()
    error = float((added.double() - exact).abs().max() / exact.abs().max())
    findings = {
        f"mask is not that of independent draws: {statistics}": statistics.passed,
        f"the residual is added with an error of {error:.1e}": error <= 2 * eps,
        "another seed gives the same mask": not torch.equal(added, redrawn),
        "the same seed gives another mask": torch.equal(added, again),
        **{f"what follows the sum: {_describe(row)}": row.passed for row in judged},
    }
    wrong = [text for text, right in findings.items() if not right]
    note = "; ".join(wrong) or f"kept {statistics.kept:.4f}, residual error {error:.1e}"
    return GraphVerdict(not wrong, note, error / (2 * eps), torch.equal(added, again))


def _double(tensor: Tensor) -> Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor.clone()


def _equal(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def _describe(row: TensorError) -> str:
    if row.note:
        return row.note
    return (
        f"norm {row.compiled_norm:.1e} (limit {row.limit_norm:.1e}) "
        f"max {row.compiled_largest:.1e} (limit {row.limit_largest:.1e})"
    )
