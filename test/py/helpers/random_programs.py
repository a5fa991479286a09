"""Random programs, their inputs, and what it means that a compiled one is right; drawn by hypothesis.

A program is a list of steps over a pool of tensors. A step that does not fit the tensors it meets is skipped,
so every list is a program. The rule of `bench.tolerance` judges models; a program of a few steps may cancel
what it computed, so here an error is measured against the largest value that the program met:

    max|compiled - ref| <= 2 * max|eager - ref| + 4 * steps * eps * max(1, largest)

with eps of the narrowest float dtype among all values, and ref a float64 run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from compiling import cloned
from hypothesis import strategies as st
from random_ops import CASTS, EXACT, JUMPS, MOVES, OPS, NotHere, kind
from torch import Tensor
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from versions import TORCH

from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.driver.direct_call import needs_gradients
from fuse_mlir.compiler.driver.graph_compilation import compile_graph
from fuse_mlir.compiler.driver.program import CompiledGraph
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.fx.views import meets_itself

#: Kernels before fusion run as those after it do, so most programs run from ``scheduled`` on: as scalar code,
#: and as tile code in planned memory.  Of what updates a table, later passes take copies away.
LEVELS = ("scheduled", "planned")
ALL_LEVELS = ("graph", *LEVELS)

# ---- inputs ------------------------------------------------------------------------------------------------

SIZES = (0, 1, 2, 3, 5, 7, 8, 17, 33)
DTYPES = (
    torch.float32, torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip


def _plain(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return values[: _count(shape)].clone().reshape(shape)


def _transposed(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return _plain(values, shape[::-1]).permute(tuple(reversed(range(len(shape)))))


def _strided(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    whole = _plain(values.repeat(1 << len(shape)), tuple(2 * n for n in shape))
    return whole[tuple(slice(i % 2, None, 2) for i in range(len(shape)))]


def _offset(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return values[: _count(shape) + 3].clone()[3:].view(shape)


def _expanded(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return _plain(values, (min(shape[0], 1), *shape[1:])).expand(shape) if shape else _plain(values, shape)


def _overlapping(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return values.clone().as_strided(shape, (1,) * len(shape), 1)


def _channels_last(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    x = _plain(values, shape)
    return (
        x.to(memory_format=torch.channels_last)
        if len(shape) == 4
        else x.movedim(-1, 0).contiguous().movedim(0, -1)
        if shape
        else x
    )


LAYOUTS: dict[str, Callable[[Tensor, tuple[int, ...]], Tensor]] = {
    "plain": _plain,
    "transposed": _transposed,
    "strided": _strided,
    "offset": _offset,
    "expanded": _expanded,
    "overlapping": _overlapping,
    "channels_last": _channels_last,
}
MUTABLE = frozenset(("plain", "transposed", "strided", "offset", "channels_last"))


def _count(shape: Sequence[int]) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


@dataclass(frozen=True)
class Input:
    """One argument: eighths between -4 and 4 if float, else integers of that range."""

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    layout: str = "plain"
    seed: int = 0

    def make(self) -> Tensor:
        generator = torch.Generator().manual_seed(self.seed)
        values = torch.randint(-32, 33, (4 * _count(self.shape) + 64,), generator=generator)
        if self.dtype == torch.bool:
            values = values > 0
        elif not self.dtype.is_floating_point:
            values = values // 4
        else:
            values = values / 8
        return LAYOUTS[self.layout](values.to(self.dtype), self.shape)

    @property
    def mutable(self) -> bool:
        """Whether it may be written in place. AOTAutograd itself, with the backend "aot_eager", loses what is
        written to a float64 scalar on the CPU.
        """
        return self.layout in MUTABLE and (self.shape != () or self.dtype != torch.float64)


# ---- programs ----------------------------------------------------------------------------------------------

MUTATIONS: dict[str, Callable[[Tensor, Tensor, int], Any]] = {
    "neg_": lambda x, y, n: x.neg_() if kind(x) != "bool" else x.logical_not_(),
    "fill_": lambda x, y, n: x.fill_(n % 2),
    "row_": lambda x, y, n: x[0].fill_(1) if x.ndim and x.shape[0] else None,
    "copy_": lambda x, y, n: x.copy_(y) if x.shape == y.shape or y.ndim == 0 else None,
    "view_": lambda x, y, n: x.mT[..., ::2].zero_() if x.ndim > 1 else None,
    "shift_": lambda x, y, n: x[1:].copy_(x[:-1].clone()) if x.ndim else None,
    "add_": lambda x, y, n: x.add_(1) if kind(x) != "bool" else None,
    "mul_": lambda x, y, n: x.mul_(0.5) if kind(x) == "float" else None,
    "sub_sum_": lambda x, y, n: x.sub_(x.mean(0)) if kind(x) == "float" and x.ndim else None,
}
ROUNDING_MUTATIONS = frozenset(("add_", "mul_", "sub_sum_", "copy_"))


@dataclass(frozen=True)
class Step:
    """Op `name` on the values `first` and `second` of the pool, from the newest; `n` chooses details."""

    name: str
    first: int = 0
    second: int = 1
    n: int = 0


@dataclass(frozen=True)
class Program:
    """Its inputs, its steps, and which values of the pool it returns."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...] = (0,)

    def __call__(self, *args: Tensor) -> tuple[Tensor, ...]:
        return self.run(args)[0]

    def run(self, args: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], list[Tensor]]:
        """The results and all values."""
        pool, exact = list(args), [True] * len(args)
        for step in self.steps:
            i, j = (len(pool) - 1 - k % len(pool) for k in (step.first, step.second))
            if step.name in MUTATIONS:
                k = step.first % len(args)
                if self.inputs[k].mutable and not args[k].requires_grad:
                    MUTATIONS[step.name](args[k], pool[j], step.n)
                    if step.name in ROUNDING_MUTATIONS:
                        exact = [e and kind(v) != "float" for e, v in zip(exact, pool, strict=True)]
                continue
            known = exact[i] and exact[j]
            if step.name in JUMPS and not known:
                continue
            try:
                value = OPS[step.name](pool[i], pool[j], step.n)
            except NotHere:
                continue
            if value.numel() <= 4096 and value.ndim <= 5:
                pool.append(value)
                exact.append(known and step.name in EXACT)
        return tuple(pool[-1 - k % len(pool)] for k in self.results), pool


def _shapes(draw: Callable[..., Any], count: int) -> list[tuple[int, ...]]:
    size = st.sampled_from(SIZES)
    shapes: list[tuple[int, ...]] = [tuple(draw(st.lists(size, max_size=4)))]
    while _count(shapes[0]) > 1500:
        shapes[0] = shapes[0][1:]
    for _ in range(count - 1):
        first = shapes[0]
        how = draw(st.integers(0, 3))
        if how == 0:
            shapes.append(first)
        elif how == 1:
            shapes.append(tuple(1 if draw(st.booleans()) else n for n in first))
        elif how == 2:
            shapes.append(first[draw(st.integers(0, len(first))) :])
        else:
            shapes.append(tuple(draw(st.lists(size, max_size=2))))
    return shapes


@st.composite
def programs(
    draw: Callable[..., Any], *, mutate: bool = True, floats: bool = False, longest: int = 10
) -> Program:
    """Programs of up to `longest` steps. `floats`: only float inputs."""
    shapes = _shapes(draw, draw(st.integers(1, 3)))
    dtypes = [d for d in DTYPES if d.is_floating_point or not floats]
    inputs = tuple(
        Input(shape, draw(st.sampled_from(dtypes)), draw(st.sampled_from(list(LAYOUTS))), i)
        for i, shape in enumerate(shapes)
    )
    tables = [sorted(OPS), sorted(MOVES), sorted(CASTS) + ["sum", "mean", "softmax", "var", "cumsum", "amax"]]
    if mutate:
        tables.append(sorted(MUTATIONS))
    names = st.one_of(*(st.sampled_from(table) for table in tables))
    near = st.sampled_from((0, 0, 0, 1, 1, 2, 3, 5))
    step = st.builds(Step, names, near, near, st.integers(0, 255))
    steps = draw(st.lists(step, min_size=1, max_size=longest))
    results = (0, *draw(st.lists(st.integers(0, 5), max_size=3)))
    return Program(inputs, tuple(steps), results)


# ---- compiling and judging ---------------------------------------------------------------------------------


@dataclass
class AllLevels:
    """A function captured once and lowered to every level; `level` says which one runs."""

    function: Callable[..., Any]
    dynamic: bool = False
    verify: str = "on"
    levels: tuple[str, ...] = LEVELS
    level: str = "scheduled"
    graphs: list[CompiledGraph] = field(default_factory=list)

    def __post_init__(self) -> None:
        torch._dynamo.reset()
        call = torch.compile(self.function, backend=self._capture, fullgraph=True, dynamic=self.dynamic)
        # The numbers in a program's steps are constants of it, no inputs.
        self.call = torch._dynamo.config.patch(specialize_int=True)(call)

    def _capture(self, gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        return aot_autograd(
            fw_compiler=self._compile,
            bw_compiler=self._compile,
            inference_compiler=self._compile,
            partition_fn=min_cut_rematerialization_partition,
            decompositions=decomposition_table(needs_gradients(inputs)),
            keep_inference_input_mutations=True,
        )(gm, inputs)

    def _compile(self, gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        calls = {}
        for level in self.levels:
            verify = self.verify if level == self.levels[-1] else "on"
            options = Options.of({"interpret_level": level, "verify": verify})
            graph = compile_graph(gm, inputs, options)
            calls[level] = graph.call
        self.graphs.append(graph)

        def run(args: list[Any]) -> list[Any]:
            return calls[self.level](args)

        run._boxed_call = True  # type: ignore[attr-defined]
        return run


def aliases(tensors: Sequence[Tensor]) -> list[tuple[int, int]]:
    """Pairs that share a storage."""
    memory = [(t.untyped_storage().nbytes(), t.untyped_storage().data_ptr()) for t in tensors]
    pairs = ((i, j) for j in range(len(memory)) for i in range(j))
    return [(i, j) for i, j in pairs if memory[i][0] and memory[i] == memory[j]]


def layout(x: Tensor) -> list[tuple[int, int]]:
    return [(n, s) for n, s in zip(x.shape, x.stride(), strict=True) if n > 1] if x.numel() else []


def judge(eager: Tensor, found: Tensor, reference: Tensor, slack: float) -> str:
    """What is wrong with `found`, "" if nothing."""
    if found.shape != eager.shape or found.dtype != eager.dtype:
        return f"{found.dtype}{list(found.shape)}, eager has {eager.dtype}{list(eager.shape)}"
    if layout(found) != layout(eager):
        return f"strides {found.stride()}, eager has {eager.stride()} for {list(eager.shape)}"
    if not eager.is_floating_point():
        return "" if torch.equal(found, eager) else f"{found.tolist()}, eager has {eager.tolist()}"
    mine, theirs, true = found.detach().double(), eager.detach().double(), reference.detach().double()
    finite = theirs.isfinite()
    special = (mine == theirs) | (mine.isnan() & theirs.isnan())
    if not bool((finite & mine.isfinite() | special).all()):
        return f"{mine.tolist()}, eager has {theirs.tolist()}"
    finite &= true.isfinite()
    if not finite.any():
        return ""
    allowed = 2 * (theirs - true)[finite].abs().max() + slack
    error = (mine - true)[finite].abs().max()
    return "" if error <= allowed else f"error {error:.3g} > {allowed:.3g}"


def gradients(results: Sequence[Tensor], args: Sequence[Tensor]) -> list[Tensor]:
    """Gradients of the sum of sines of all results that have one, with zeros where there is none.

    AOTAutograd of torch 2.11 lays some of arguments that meet themselves in memory out otherwise than eager,
    for aot_eager too: there all of these lie in the order of their dims.
    """
    wanted = [a for a in args if a.requires_grad]
    losses = [
        r.float().sin().sum() if r.dtype in (torch.float16, torch.bfloat16) else r.sin().sum()
        for r in results
        if r.requires_grad
    ]
    if not losses or not wanted:
        return []
    found = torch.autograd.grad(sum(losses), wanted, allow_unused=True)
    given = [torch.zeros_like(a) if g is None else g for a, g in zip(wanted, found, strict=True)]
    if TORCH < (2, 13):
        given = [g.contiguous() if meets_itself(a) else g for a, g in zip(wanted, given, strict=True)]
    return given


def epsilon(tensors: Sequence[Tensor]) -> float:
    return max((torch.finfo(t.dtype).eps for t in tensors if t.is_floating_point()), default=0.0)


def check_program(
    program: Program,
    *,
    dynamic: bool = False,
    verify: str = "on",
    gradient: bool = False,
    share: bool = False,
    levels: tuple[str, ...] = LEVELS,
    others: Sequence[Sequence[Input]] = (),
) -> AllLevels | None:
    """Asserts that each of the levels does what eager does. None if eager refuses the program.

    `share`: the second input is a view of the first, unless elements of that overlap, which eager writes in
    any order. `others`: more inputs for the same compiled function.
    """
    compiled = AllLevels(program, dynamic, verify, levels)
    for inputs in (program.inputs, *others):
        args = [i.make() for i in inputs]
        if share and len(args) > 1 and args[0].ndim and inputs[0].layout in MUTABLE:
            args[1] = args[0].flip(0) if not args[0].shape[0] else args[0][args[0].shape[0] // 2 :]
        if gradient:
            args = [a.requires_grad_(a.is_floating_point()) for a in args]
        if not _check(program, compiled, args, gradient):
            return None
    return compiled


def _check(program: Program, compiled: AllLevels, args: list[Tensor], gradient: bool) -> bool:
    def observed(results: Sequence[Tensor], given: list[Tensor]) -> list[Tensor]:
        return [*results, *given, *(gradients(results, given) if gradient else ())]

    eager_args = cloned(args)
    try:
        results, pool = program.run(eager_args)
        eager = observed(results, eager_args)
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
        return False
    with float64_reference():
        reference_args = cloned(args, torch.float64)
        results_64, pool_64 = program.run(reference_args)
        reference = observed(results_64, reference_args)
    finite = [t.detach().double() for t in [*pool_64, *reference] if t.is_floating_point() and t.numel()]
    largest = max([1.0, *(float(t[t.isfinite()].abs().max()) for t in finite if t.isfinite().any())])
    slack = 4 * (len(program.steps) + 2) * epsilon(pool) * largest
    for level in compiled.levels:
        compiled.level = level
        given = cloned(args)
        mine = compiled.call(*given)
        found = observed(mine, given)
        assert len(found) == len(eager), level
        for i, (e, f, r) in enumerate(zip(eager, found, reference, strict=True)):
            wrong = judge(e, f, r, slack)
            assert not wrong, f"{level}: tensor {i} of {len(results)} results, {len(args)} arguments: {wrong}"
        assert aliases([*mine, *given]) == aliases([*results, *eager_args]), f"{level}: aliases"
    return True
