"""Products of rows in segments through the backend: layers of experts, run by the interpreter."""

import random

import pytest
import torch
from compiling import Compiled, check, with_exact_gradients
from expert_layers import drawn, gated, grouped, joined, layer, scaled, scaled_exactly, summed
from random_offsets import ends

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

GENERATED = {"products": "generated", "interpret_level": "planned"}


@pytest.mark.parametrize("seed", range(3))
def test_a_layer_of_experts(seed: int) -> None:
    given = drawn(40, 2, 8, 32, 48, seed=seed)
    compiled = check(layer, *given.values(), **GENERATED)
    assert compiled.graphs[0].externs == 0


def test_rows_are_taken_and_gated_in_one_kernel() -> None:
    given = drawn(40, 2, 8, 32, 48, seed=5)
    taken = [given[name] for name in ("x", "rows", "w1", "w3", "offs")]
    compiled = check(gated, *taken, **GENERATED)
    assert (compiled.graphs[0].externs, compiled.graphs[0].launches_after) == (0, 1)


def test_what_reads_the_rows_of_each_token() -> None:
    given = drawn(40, 8, 8, 32, 48, seed=6)
    h = gated(*[given[name] for name in ("x", "rows", "w1", "w3", "offs")])
    check(joined, h, *[given[name] for name in ("w2", "offs", "scale", "inverse")], **GENERATED)


@pytest.mark.parametrize("top", [1, 2, 4, 8])
def test_the_rows_of_each_token_are_scaled_and_added_up_in_one_kernel(top: int) -> None:
    """Behind a call of the library."""
    given = drawn(40, top, 8, 32, 48, seed=top)
    h = torch.randn(40 * top, 48, generator=torch.Generator().manual_seed(top)).to(torch.bfloat16)
    taken = [given[name] for name in ("w2", "offs", "scale", "inverse")]
    compiled = check(joined, h, *taken, interpret_level="planned")
    assert (compiled.graphs[0].externs, compiled.graphs[0].launches_after) == (1, 1)
    for place in (0, -1):
        taken[-1].view(-1)[place] = 40 * top
        with pytest.raises((IndexError, RuntimeError), match="index"):
            compiled(h, *taken)
        taken[-1].view(-1)[place] = 0


@pytest.mark.parametrize(("rows", "experts"), [(3, 2), (2, 4), (16, 64), (200, 5)])
def test_any_numbers_of_rows_and_experts(rows: int, experts: int) -> None:
    given = drawn(rows, 1, experts, 32, 48, seed=rows)
    compiled = check(grouped, given["x"], given["w1"], given["offs"], **GENERATED)
    assert compiled.graphs[0].externs == 0


def test_weights_that_lie_across() -> None:
    """As modules have them: a row for each output."""
    given = drawn(40, 2, 8, 32, 48, seed=7)
    w = given["w1"].transpose(1, 2).contiguous()

    def turned(x: torch.Tensor, w: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
        return grouped(x, w.transpose(1, 2), offs)

    x = given["x"][given["rows"]]
    compiled = check(turned, x, w, given["offs"], **GENERATED)
    assert compiled.graphs[0].externs == 0


def test_other_counts_need_no_other_program() -> None:
    given = drawn(40, 2, 8, 32, 48, seed=8)
    compiled = check(layer, *given.values(), **GENERATED)
    for seed in (9, 10, 11):
        other = drawn(40, 2, 8, 32, 48, seed=seed)
        torch.testing.assert_close(compiled(*other.values()), layer(*other.values()), rtol=0.05, atol=0.05)
    assert len(compiled.graphs) == 1


def test_how_many_rows_there_are_may_be_unknown() -> None:
    compiled = Compiled(grouped, GENERATED, dynamic=None)
    for tokens in (40, 56, 24):
        given = drawn(tokens, 2, 8, 32, 48, seed=tokens)
        x = given["x"][given["rows"]]
        torch._dynamo.mark_dynamic(x, 0)
        got, want = (f(x, given["w1"], given["offs"]) for f in (compiled, grouped))
        torch.testing.assert_close(got, want, rtol=0.02, atol=0.02)
    assert (len(compiled.graphs), compiled.graphs[0].externs) == (1, 0)


@pytest.mark.parametrize("offs", [[3, 2, 9, 80], [3, 4, 9, 81], [-1, 4, 9, 80]])
@pytest.mark.parametrize("level", ["scheduled", "planned"])
def test_ends_that_decrease_or_pass_the_last_row(offs: list[int], level: str) -> None:
    given = drawn(40, 2, 4, 32, 48, seed=12)
    x = given["x"][given["rows"]]
    compiled = check(grouped, x, given["w1"], given["offs"], products="generated", interpret_level=level)
    with pytest.raises(
        (IndexError, RuntimeError), match="the ends of segments decrease, or pass the last row"
    ):
        compiled(x, given["w1"], torch.tensor(offs, dtype=torch.int32))


@pytest.mark.parametrize("offs", [[300, 200, 350, 400], [100, 200, 300, 401], [-1, 200, 300, 400]], ids=str)
@pytest.mark.parametrize("level", ["scheduled", "planned"])
def test_ends_of_sums_that_decrease_or_pass_the_last_row(offs: list[int], level: str) -> None:
    """Of the gradient of the matrices, which sums over the rows of a segment."""
    given = drawn(400, 1, 4, 32, 48, seed=12)
    g = torch.randn(400, 48, generator=torch.Generator().manual_seed(12)).to(torch.bfloat16)
    compiled = Compiled(summed, {"products": "generated", "interpret_level": level})
    with pytest.raises((IndexError, RuntimeError), match="the ends of segments decrease, or pass"):
        compiled(given["x"], g, torch.tensor(offs, dtype=torch.int32))


@pytest.mark.parametrize("products", ["generated", "library"])
@pytest.mark.parametrize(
    ("offs", "message"),
    [
        (torch.arange(20, 100, 20, dtype=torch.int32), "matrix batch sizes have to match"),
        (torch.arange(10, 70, 10, dtype=torch.int32), "matrix batch sizes have to match"),
        (torch.arange(16, 96, 16), "Offsets have to be int32|Offsets tensor must be integer"),
        (torch.arange(16, 96, 16, dtype=torch.int32)[None], "has to be 1D|must be 1D|1D"),
    ],
    ids=["fewer ends", "more ends", "int64", "two dims"],
)
def test_ends_of_another_number_or_type_are_eagers_error(
    offs: torch.Tensor, message: str, products: str
) -> None:
    given = drawn(40, 2, 5, 32, 48, seed=3)
    x = given["x"][given["rows"]]
    compiled = Compiled(grouped, {"products": products, "interpret_level": "planned"})
    for run in (grouped, compiled):
        with pytest.raises(RuntimeError, match=message):
            run(x, given["w1"], offs)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((79,), (5, 48)), "scale"),
        (((80,), (4, 48)), "scale"),
        (((80,), (5, 47)), "scale"),
        (((80, 1), (5, 48)), "scale"),
    ],
    ids=str,
)
def test_scales_of_another_shape_are_torchs_error(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], message: str
) -> None:
    x, w = (torch.ones(shape).to(torch.float8_e4m3fn) for shape in ((80, 64), (5, 48, 64)))
    offs = torch.arange(16, 96, 16, dtype=torch.int32)
    with pytest.raises(RuntimeError, match=message):
        Compiled(scaled, GENERATED)(x, w, *map(torch.ones, shapes), offs)


@pytest.mark.parametrize("level", ["scheduled", "planned"])
def test_ends_of_floats_of_8_bits_are_checked(level: str) -> None:
    x, w = (torch.ones(shape).to(torch.float8_e4m3fn) for shape in ((80, 64), (3, 48, 64)))
    compiled = Compiled(scaled, {"products": "generated", "interpret_level": level})
    for offs in ([40, 30, 80], [40, 50, 81], [-1, 50, 80]):
        with pytest.raises((IndexError, RuntimeError), match="the ends of segments decrease"):
            compiled(x, w, torch.ones(80), torch.ones(3, 48), torch.tensor(offs, dtype=torch.int32))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_floats_of_8_bits_with_scales(seed: int, fast: bool) -> None:
    """For each row, and for each column of an expert.  torch has no such product on a CPU."""
    draw = torch.Generator().manual_seed(seed)
    offs = torch.tensor(ends(80, 5, random.Random(seed)), dtype=torch.int32)
    x, w = (torch.randn(shape, generator=draw).to(torch.float8_e4m3fn) for shape in ((80, 64), (5, 48, 64)))
    scales = [torch.rand(shape, generator=draw) + 0.5 for shape in ((80,), (5, 48))]
    compiled = Compiled(scaled, GENERATED)
    got = compiled(x, w, *scales, offs, fast)
    want = scaled_exactly(x, w, *scales, offs)
    assert compiled.graphs[0].externs == 0
    torch.testing.assert_close(got.double(), want, rtol=2**-8, atol=1e-6)


def test_rows_that_are_looked_up_as_bytes_stay_one_load() -> None:
    """Of floats of 8 bits, which torch does not look up itself."""
    draw = torch.Generator().manual_seed(6)
    offs = torch.tensor(ends(80, 5, random.Random(6)), dtype=torch.int32)
    x, w = (torch.randn(shape, generator=draw).to(torch.float8_e4m3fn) for shape in ((40, 64), (5, 48, 64)))
    a, b = (torch.rand(shape, generator=draw) + 0.5 for shape in ((40,), (5, 48)))
    rows = torch.randint(0, 40, (80,), generator=draw)

    def taken(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return x.view(torch.uint8)[rows].view(torch.float8_e4m3fn)

    compiled = Compiled(lambda x, rows, w, a, b, offs: scaled(taken(x, rows), w, a[rows], b, offs), GENERATED)
    got = compiled(x, rows, w, a, b, offs)
    want = scaled_exactly(taken(x, rows), w, a[rows], b, offs)
    assert (compiled.graphs[0].externs, compiled.graphs[0].launches_after) == (0, 1)
    assert "tt.bitcast" not in str(compiled.graphs[0].module)
    torch.testing.assert_close(got.double(), want, rtol=2**-8, atol=1e-6)


def test_one_row_is_the_librarys() -> None:
    given = drawn(1, 1, 4, 32, 48, seed=13)
    compiled = check(grouped, given["x"], given["w1"], given["offs"], **GENERATED)
    assert compiled.graphs[0].externs == 1


@pytest.mark.parametrize("experts", [2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_sums_of_segments(experts: int, seed: int) -> None:
    """The loop over what is summed goes through the segment alone."""
    given = drawn(400, 1, experts, 32, 48, seed=seed)
    g = torch.randn(400, 48, generator=torch.Generator().manual_seed(seed)).to(torch.bfloat16)
    compiled = check(summed, given["x"], g, given["offs"], **GENERATED)
    assert compiled.graphs[0].externs == 0
    assert "arith.divsi" in str(compiled.graphs[0].module).partition("scf.for")[0]


def test_gradients_of_a_product() -> None:
    given = drawn(40, 2, 4, 32, 48, seed=14)
    x = given["x"][given["rows"]].requires_grad_()
    w = given["w1"].requires_grad_()
    scale = torch.randn(80, 48).to(torch.bfloat16)
    offs = given["offs"]
    compiled = with_exact_gradients(lambda x, w: grouped(x, w, offs) * scale.to(x.dtype), [x, w], GENERATED)
    assert [graph.externs for graph in compiled.graphs] == [0, 0]
