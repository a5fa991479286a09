"""Random ops: imported, verified, run by the interpreter; their statistics, their independence, what repeats
and what does not.
"""

import math
import operator

import pytest
import torch
from lowering import externs, lower, trace
from torch._subclasses.fake_tensor import FakeTensorMode

from fuse_mlir.compiler.base.errors import UnsupportedOp
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.fx.table import KEPT_WHOLE, LOWERINGS
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.compiler.runtime.rng import RngState

aten = torch.ops.aten
TABLE = decomposition_table()
N = 20000


def draw(function, *inputs, seed=1, dynamic=False):
    """The results under a generator of its own."""
    imported = lower(trace(function, inputs, dynamic=dynamic, table=TABLE))
    assert externs(imported) == []
    results = run_module(imported.module, list(inputs), objects=imported.objects, rng=RngState(seed))
    return results[0] if len(results) == 1 else results


def near(sample, mean, variance):
    """The sample's moments within five standard errors of a distribution's; its fourth moment is taken to be
    normal's or less.
    """
    x = sample.double()
    assert abs(x.mean().item() - mean) < 5 * math.sqrt(variance / x.numel())
    assert abs(x.var().item() - variance) < 5 * variance * math.sqrt(2 / x.numel()) + 1e-3


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.float16, torch.bfloat16))
def test_moments(dtype):
    uniform = draw(lambda: torch.rand(N, dtype=dtype))
    assert uniform.dtype == dtype and uniform.min() >= 0 and uniform.max() < 1
    near(uniform, 0.5, 1 / 12)
    normal = draw(lambda: torch.randn(N, dtype=dtype))
    near(normal, 0, 1)
    assert normal.abs().max() > 3
    share = (normal.abs() < 1).double().mean().item()
    assert abs(share - 0.6827) < 0.02


def test_uniform_fills_its_bins():
    """Chi-squared over 64 bins: 63 degrees of freedom, 120 is beyond one in a hundred thousand."""
    counts = torch.histc(draw(lambda: torch.rand(N)), 64, 0, 1)
    assert ((counts - N / 64) ** 2 / (N / 64)).sum() < 120


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bounds_that_are_equal_are_what_is_drawn(dtype):
    drawn = draw(lambda x: aten.uniform.default(x, 0.3, 0.3), torch.empty(8, dtype=dtype))
    assert torch.equal(drawn, torch.full((8,), 0.3, dtype=dtype))


def test_neighbours_are_uncorrelated():
    x = draw(lambda: torch.randn(N))
    for lag in (1, 2, 16):
        assert abs((x[lag:] * x[:-lag]).mean().item()) < 5 / math.sqrt(N)


def test_two_draws_differ_and_a_seed_repeats():
    first, second = draw(lambda: (torch.rand(100), torch.rand(100)))
    assert not torch.equal(first, second)
    assert abs(((first - 0.5) * (second - 0.5)).mean().item()) < 0.05
    again, _ = draw(lambda: (torch.rand(100), torch.rand(100)))
    assert torch.equal(first, again)
    other, _ = draw(lambda: (torch.rand(100), torch.rand(100)), seed=2)
    assert not torch.equal(first, other)


def test_draws_of_a_state_do_not_overlap():
    """CUDA's offsets are multiples of 4."""
    state = RngState(7)
    assert [state.draw("cpu", count) for count in (0, 1, 4, 5, 8, 9, 1)] == [
        (7, offset) for offset in (0, 4, 8, 12, 20, 28, 40)
    ]
    assert state.draw("cuda:0", 1) == (7, 0)


def test_the_counter_is_the_row_major_index():
    """Shape and strides do not change the sequence."""
    flat = draw(lambda: torch.rand(24))
    assert torch.equal(draw(lambda: torch.rand(2, 3, 4)).flatten(), flat)
    x = torch.empty(4, 3, 2).permute(2, 1, 0)
    like = draw(lambda x: torch.rand_like(x), x)
    assert like.stride() == x.stride()
    assert torch.equal(
        like.flatten().sort().values, flat.sort().values
    )  # drawn in memory order, as in Inductor
    assert torch.equal(draw(lambda x: torch.rand_like(x), torch.empty(2, 3, 4), dynamic=True).flatten(), flat)


def test_dynamic_size():
    near(draw(lambda x: torch.rand(x.shape[0], x.shape[1]), torch.empty(100, 200), dynamic=True), 0.5, 1 / 12)


def test_uniform_and_normal_of_a_tensor():
    x = torch.empty(N)
    sample = draw(lambda x: aten.uniform.default(x, -2.0, 4.0), x)
    near(sample, 1, 3)
    assert sample.min() >= -2 and sample.max() < 4
    assert (draw(lambda x: aten.uniform.default(x, 3.0, 3.0), x) == 3).all()
    near(draw(lambda x: aten.normal_functional.default(x, 2.0, 0.5), x), 2, 0.25)
    near(draw(lambda: torch.normal(1.0, 2.0, (N,))), 1, 4)
    near(draw(lambda m: torch.normal(m, 2.0), torch.full((N,), 3.0)), 3, 4)


def test_low_precision_never_reaches_the_bound():
    """255.5/256 rounds to 1 in bfloat16, which [0, 1) does not contain."""
    assert draw(lambda: torch.rand(N * 4, dtype=torch.bfloat16)).max() < 1
    assert draw(lambda x: aten.uniform.default(x, 1.0, 2.0), torch.empty(N, dtype=torch.bfloat16)).max() < 2


@pytest.mark.parametrize("p", (0.0, 0.1, 0.5, 0.9, 1.0))
def test_bernoulli(p):
    for function in (
        lambda x: aten.bernoulli.p(x, p),
        lambda x: torch.bernoulli(torch.full_like(x, p)),
        lambda x: torch.bernoulli(torch.full_like(x, p, dtype=torch.float64)),
    ):
        sample = draw(function, torch.empty(N))
        assert set(sample.unique().tolist()) <= {0.0, 1.0}
        near(sample, p, p * (1 - p)) if 0 < p < 1 else near(sample + 0, p, 1e-9)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
@pytest.mark.parametrize("p", (0.1, 0.9))
def test_dropout(p, dtype):
    """The mask keeps 1 - p, also where the dtype has eight bits; the kept elements are scaled."""
    x = torch.full((N,), 2.0, dtype=dtype)
    value, mask = draw(lambda x: aten.native_dropout.default(x, p, True), x)
    assert mask.dtype == torch.bool and value.dtype == dtype
    near(mask.float(), 1 - p, p * (1 - p))
    assert torch.equal(
        value, torch.where(mask, torch.tensor(2 / (1 - p), dtype=dtype), torch.zeros((), dtype=dtype))
    )


def test_dropout_without_chance():
    x = torch.randn(50)
    for p, train, kept in ((0.5, False, True), (0.0, True, True), (1.0, True, False)):
        value, mask = draw(_dropout(p, train), x)
        assert torch.equal(value, x * kept) and bool(mask.all()) == kept and bool(mask.any()) == kept


def _dropout(p, train):
    return lambda x: aten.native_dropout.default(x, p, train)


@pytest.mark.parametrize("low, high", ((0, 2), (-3, 4), (0, 10), (5, 6), (0, 1 << 33)))
def test_randint(low, high):
    sample = draw(lambda: torch.randint(low, high, (N,)))
    span = high - low
    assert sample.dtype == torch.int64 and sample.min() >= low and sample.max() < high
    if span == 1:
        assert (sample == low).all()
        return
    near((sample - low).double() / span, (1 - 1 / span) / 2, (1 - 1 / span**2) / 12)
    if span <= 10:
        counts = torch.bincount(sample - low, minlength=span).double()
        assert ((counts - N / span) ** 2 / (N / span)).sum() < 50


def test_randint_dtypes_and_limits():
    assert draw(lambda: torch.randint(0, 100, (7,), dtype=torch.int8)).dtype == torch.int8
    assert draw(lambda: torch.randint(0, 100, (7,), dtype=torch.float32)).dtype == torch.float32
    assert draw(lambda x: torch.randint_like(x, 3, 9), torch.empty(5)).min() >= 3
    with pytest.raises(UnsupportedOp, match="too wide"):
        lower(trace(lambda: torch.randint(0, 1 << 50, (3,)), []))


@pytest.mark.parametrize("name", ("exponential", "cauchy", "log_normal", "geometric"))
def test_other_distributions_are_made_of_these(name):
    arguments = (0.25,) if name == "geometric" else ()
    sample = draw(lambda x: getattr(aten, name).default(x, *arguments), torch.empty(N))
    median = {"exponential": math.log(2), "cauchy": 0.0, "log_normal": math.e, "geometric": 3.0}[name]
    below, upto = (sample < median - 0.03).double().mean(), (sample <= median + 0.03).double().mean()
    assert below < 0.52 and upto > 0.48


def test_draws_keep_program_order():
    text = str(
        lower(
            trace(lambda: (torch.rand(3), torch.randn(3), torch.randint(0, 5, (3,))), [], table=TABLE)
        ).module
    )
    assert text.count('"fuse.rng"') == 3
    order = [text.index(f"call @{n}") for n in ("rand(", "randn(", "randint(")]
    assert order == sorted(order)


def test_a_refused_draw_leaves_the_generator_alone():
    """What falls back draws by itself, not twice."""
    imported = lower(trace(lambda: torch.randint(0, 1 << 50, (3,)), []), strict=False)
    assert externs(imported) == ["aten.randint.low"] and '"fuse.rng"' not in str(imported.module)
    assert "fuse.effect" in str(imported.module)


def test_permutations_run_whole():
    imported = lower(trace(lambda: torch.randperm(10), []))
    assert externs(imported) == ["aten.randperm.default"]
    (result,) = run_module(imported.module, [], objects=imported.objects)
    assert result.sort().values.tolist() == list(range(10))


def test_saved_generator_states_stay_together():
    """What checkpointing saves and replays is eager's own generator, in both halves."""
    from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state

    graph, mode = torch.fx.Graph(), FakeTensorMode()
    x = graph.placeholder("x")
    saved = graph.call_function(run_and_save_rng_state, (aten.rand_like.default, x))
    state, mask = (graph.call_function(operator.getitem, (saved, i)) for i in range(2))
    replayed = graph.call_function(run_with_rng_state, (state, aten.rand_like.default, x))
    graph.output((mask, replayed))
    for node in (x, mask, replayed):
        node.meta["val"] = mode.from_tensor(torch.empty(20))
    state.meta["val"] = mode.from_tensor(torch.get_rng_state())
    saved.meta["val"] = (state.meta["val"], mask.meta["val"])
    imported = lower(torch.fx.GraphModule(torch.nn.Module(), graph))
    assert [n.rpartition(".")[2] for n in externs(imported)] == [
        "run_and_save_rng_state",
        "run_with_rng_state",
    ]
    assert str(imported.module).count("fuse.effect") == 2
    first, again = run_module(imported.module, [torch.empty(20)], objects=imported.objects)
    assert torch.equal(first, again) and first.unique().numel() > 10


#: Random ops of core ATen: lowered, decomposed, or why not.
CORE = {
    "aten.rand.default": "lowered",
    "aten.randn.default": "lowered",
    "aten.randint.low": "lowered",
    "aten.bernoulli.p": "lowered",
    "aten.bernoulli.default": "lowered",
    "aten.native_dropout.default": "lowered",
    "aten.uniform.default": "lowered",
    "aten.normal_functional.default": "lowered",
    "aten.rand_like.default": "decomposed",
    "aten.randn_like.default": "decomposed",
    "aten.randint_like.default": "decomposed",
    "aten.normal.Tensor_Tensor": "decomposed",
    "aten.exponential.default": "decomposed",
    "aten.randperm.default": "whole",
    "aten.multinomial.default": "whole",
    "aten.poisson.default": "a rejection loop whose length is random",
}


@pytest.mark.parametrize("overload", CORE)
def test_every_random_op_is_accounted_for(overload):
    tables = {"lowered": LOWERINGS, "decomposed": {str(o) for o in TABLE}, "whole": KEPT_WHOLE}
    found = [name for name, table in tables.items() if overload in table]
    assert found == ([CORE[overload]] if CORE[overload] in tables else [])
