"""Loads and stores of scalar kernels on the CPU: coordinates, guards, races, strides."""
# ruff: noqa: E501  (modules as text)

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from scalar_kernel_text import ROWS, module_text, run_kernel

from fuse_mlir.compiler.index import parse
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.errors import OutOfBounds, RaceError
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.compiler.runtime.interpreter.scalar.strided import clipped, strided


def copy_body(load_at: str, store_at: str = '["d0", "d1"]', guard: str = "%true") -> str:
    return f"""
  %v = "fuse.load"(%x0, {guard}, %z_f32) {{at = {load_at}}} : (X0, i1, f32) -> f32
  %r0 = "fuse.store"(%o0, %v, %true) {{at = {store_at}, mode = "set"}} : (O0, f32, i1) -> O0"""


@pytest.mark.parametrize(
    "at, dims, expected",
    [
        ('["d0", "d1"]', (4, 6), ROWS),
        ('["d1", "d0"]', (6, 4), ROWS.T),
        ('["d0 + 1", "d1*2"]', (3, 3), ROWS[1:, ::2]),
        ('["3 - d0", "5 - d1"]', (4, 6), ROWS.flip(0, 1)),
        ('["0", "d1"]', (3, 6), ROWS[:1].expand(3, 6)),
        ('["(d0*6 + d1) mod 4", "(d0*6 + d1) floordiv 4"]', (4, 6), ROWS.T.reshape(4, 6)),
        ('["d0", "d0 + d1"]', (4, 3), torch.stack([ROWS[i, i : i + 3] for i in range(4)])),
        (
            '["d0*2 + d1", "d1"]',
            (2, 2),
            torch.stack([ROWS[0, 0], ROWS[1, 1], ROWS[2, 0], ROWS[3, 1]]).reshape(2, 2),
        ),
    ],
)
@pytest.mark.parametrize("strided", [False, True])
def test_loads(at, dims, expected, strided):
    source = torch.full((5, 12), -1.0)[1:, ::2].copy_(ROWS) if strided else ROWS
    (y,) = run_kernel([source], [torch.empty(*dims)], {"d0": dims[0], "d1": dims[1]}, copy_body(at))
    assert torch.equal(y, expected)


def test_a_guarded_load_ends_with_its_tensor_where_another_dim_has_no_points():
    body = """
  %i = "fuse.index"() {expr = "d1"} : () -> i64
  %three = arith.constant 3 : i64
  %in = arith.cmpi slt, %i, %three : i64
  %v = "fuse.load"(%x0, %in, %z_f32) {at = ["d1"]} : (X0, i1, f32) -> f32
  %e = "fuse.load"(%x1, %true, %z_f32) {at = ["d0"]} : (X1, i1, f32) -> f32
  %s = "fuse.reduce"(%e) {kind = "sum", over = ["d0"]} : (f32) -> f32
  %w = arith.addf %v, %s : f32
  %r0 = "fuse.store"(%o0, %w, %true) {at = ["d1"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([torch.arange(1.0, 4.0), torch.empty(0)], [torch.empty(5)], {"d0": 0, "d1": 5}, body)
    assert y.tolist() == [1, 2, 3, 0, 0]


@pytest.mark.parametrize("size", [0, 1, 2])
def test_nothing_is_read_of_a_tensor_whose_size_divides_its_coordinates(size):
    """Its elements are repeated; before them is one 0, and where there are none there is nothing else."""
    kind = 'tensor<?xf32, #fuse.layout<"s0", "1", "0", "">>'
    text = f"""
func.func @main(%x: {kind}, %n: index {{fuse.sym = "s0"}}) -> tensor<5xf32> {{
  %o = "fuse.empty"() {{syms = []}} : () -> tensor<5xf32>
  %y = call @k(%x, %o, %n) : ({kind}, tensor<5xf32>, index) -> tensor<5xf32>
  return %y : tensor<5xf32>
}}
func.func private @k(%x: {kind}, %o: tensor<5xf32>, %n: index {{fuse.sym = "s0"}}) -> tensor<5xf32>
    attributes {{fuse.kernel, fuse.dims = {{d0 = "5"}}, fuse.ties = array<i64: 1>}} {{
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %i = "fuse.index"() {{expr = "d0 - 1"}} : () -> i64
  %j = "fuse.index"() {{expr = "(d0 - 1) mod s0 - d0"}} : () -> i64
  %size = "fuse.index"() {{expr = "s0 - d0"}} : () -> i64
  %behind = arith.cmpi sge, %i, %none : i64
  %inside = arith.cmpi slt, %j, %size : i64
  %g = arith.andi %behind, %inside : i1
  %v = "fuse.load"(%x, %g, %zero) {{at = ["(d0 - 1) mod s0"]}} : ({kind}, i1, f32) -> f32
  %r = "fuse.store"(%o, %v, %true) {{at = ["d0"], mode = "set"}} : (tensor<5xf32>, f32, i1) -> tensor<5xf32>
  return %r : tensor<5xf32>
}}
"""
    x = torch.arange(1.0, size + 1)
    (y,) = run_module(ir.Module.parse(text, make_context()), [x, size])
    assert torch.equal(y, torch.cat([torch.zeros(1), x.repeat(4)[:4], torch.zeros(4)])[:5])


@pytest.mark.parametrize("at", ['["0", "0"]', '["d0", "0"]', '["0", "d1"]'])
@pytest.mark.parametrize("shape", [(0, 0), (4, 0)])
def test_a_kernel_without_points_reads_nothing(at, shape):
    (y,) = run_kernel([torch.empty(shape)], [torch.empty(4, 0)], {"d0": 4, "d1": 0}, copy_body(at))
    assert y.shape == (4, 0)


@pytest.mark.parametrize(
    "at, dims, expected",
    [
        ('["d1", "d0"]', (6, 4), ROWS.T),
        ('["3 - d0", "5 - d1"]', (4, 6), ROWS.flip(0, 1)),
        ('["(d0*6 + d1) floordiv 4", "(d0*6 + d1) mod 4"]', (6, 4), ROWS.reshape(6, 4)),
    ],
)
def test_stores(at, dims, expected):
    (y,) = run_kernel([ROWS], [torch.empty(*dims)], {"d0": 4, "d1": 6}, copy_body('["d0", "d1"]', at))
    assert torch.equal(y, expected)


def test_partial_stores_leave_the_rest_alone():
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["d0", "d1"]} : (X0, i1, f32) -> f32
  %r0 = "fuse.store"(%o0, %v, %true) {at = ["d0 + 1", "d1*2"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([ROWS], [torch.empty(6, 12)], {"d0": 4, "d1": 6}, body)
    assert (
        torch.equal(y[1:5, ::2], ROWS)
        and y[0].isnan().all()
        and y[5].isnan().all()
        and y[:, 1::2].isnan().all()
    )


def test_guarded_load_gives_other_and_does_not_access():
    """A pad: one element on each side."""
    body = """
  %i = "fuse.index"() {expr = "d0"} : () -> i64
  %one = arith.constant 1 : i64
  %five = arith.constant 5 : i64
  %a = arith.cmpi sge, %i, %one : i64
  %b = arith.cmpi slt, %i, %five : i64
  %g = arith.andi %a, %b : i1
  %v = "fuse.load"(%x0, %g, %z_f32) {at = ["d0 - 1", "d1"]} : (X0, i1, f32) -> f32
  %r0 = "fuse.store"(%o0, %v, %true) {at = ["d0", "d1"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([ROWS], [torch.empty(6, 6)], {"d0": 6, "d1": 6}, body)
    assert torch.equal(y, torch.nn.functional.pad(ROWS, (0, 0, 1, 1)))
    with pytest.raises(
        OutOfBounds, match=r"fuse\.load has coordinate 0 \(d0 - 1\) = -1 in a dim of size 4 at "
    ):
        run_kernel(
            [ROWS],
            [torch.empty(6, 6)],
            {"d0": 6, "d1": 6},
            body.replace("%g, %z", "%a, %z").replace("sge", "sle"),
        )


def test_guarded_store():
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["d0", "d1"]} : (X0, i1, f32) -> f32
  %ten = arith.constant 10.0 : f32
  %g = arith.cmpf ogt, %v, %ten : f32
  %r0 = "fuse.store"(%o0, %v, %g) {at = ["d0", "d1"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([ROWS], [torch.empty(4, 6)], {"d0": 4, "d1": 6}, body)
    assert torch.equal(y.isnan(), ROWS <= 10) and torch.equal(y[ROWS > 10], ROWS[ROWS > 10])


INDICES = torch.tensor([3, 0, 0, 2])
GATHER = """
  %i = "fuse.load"(%x1, %true, %z_i64) {at = ["d0"]} : (X1, i1, i64) -> i64
  %v = "fuse.load"(%x0, %true, %z_f32, %i) {at = ["i0", "d1"]} : (X0, i1, f32, i64) -> f32
  %r0 = "fuse.store"(%o0, %v, %true) {at = ["d0", "d1"], mode = "set"} : (O0, f32, i1) -> O0"""


def test_indirect_load():
    (y,) = run_kernel([ROWS, INDICES], [torch.empty(4, 6)], {"d0": 4, "d1": 6}, GATHER)
    assert torch.equal(y, ROWS[INDICES])
    with pytest.raises(OutOfBounds, match=r"coordinate 0 \(i0\) = 4 in a dim of size 4"):
        run_kernel([ROWS, INDICES + 1], [torch.empty(4, 6)], {"d0": 4, "d1": 6}, GATHER)


@pytest.mark.parametrize("mode", ["add", "min", "max"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
def test_scatter(mode, dtype):
    """Atomic modes fold into what the destination holds, whatever collides."""
    element = {torch.float32: "f32", torch.int64: "i64", torch.bfloat16: "bf16"}[dtype]
    zero = "0" if element == "i64" else "0.0"
    body = f"""
  %ze = arith.constant {zero} : {element}
  %i = "fuse.load"(%x1, %true, %z_i64) {{at = ["d0"]}} : (X1, i1, i64) -> i64
  %v = "fuse.load"(%x0, %true, %ze) {{at = ["d0", "d1"]}} : (X0, i1, {element}) -> {element}
  %r0 = "fuse.store"(%x2, %v, %true, %i) {{at = ["i0", "d1"], mode = "{mode}"}} : (X2, {element}, i1, i64) -> O0"""
    x, start = ROWS.to(dtype), torch.full((4, 6), 5).to(dtype)
    text = module_text([x, INDICES, start], [start], {"d0": 4, "d1": 6}, body).replace(
        "array<i64: 3>", "array<i64: 2>"
    )
    (y,) = run_module(ir.Module.parse(text, make_context()), [x, INDICES, start.clone()])
    index = INDICES.unsqueeze(1).expand(4, 6)
    name = {"add": "sum", "min": "amin", "max": "amax"}[mode]
    assert torch.equal(y.double(), start.double().scatter_reduce(0, index, x.double(), name))


def test_two_different_values_for_one_element_are_a_race():
    body = copy_body('["d0", "d1"]', '["d1"]')
    with pytest.raises(RaceError, match=r"fuse\.store sets element 0 of its storage twice"):
        run_kernel([ROWS], [torch.empty(6)], {"d0": 4, "d1": 6}, body)
    (y,) = run_kernel([ROWS[:1].repeat(4, 1)], [torch.empty(6)], {"d0": 4, "d1": 6}, body)
    assert torch.equal(y, ROWS[0])


def test_fp8_and_bool_and_unsigned_memory_gather():
    for dtype, element in ((torch.float8_e4m3fn, "f8E4M3FN"), (torch.bool, "i1"), (torch.uint16, "i16")):
        x = (
            torch.arange(5).to(torch.float32).to(dtype)
            if dtype != torch.uint16
            else torch.arange(5).to(dtype)
        )
        zero = {"i1": "false", "i16": "0"}.get(element, "0.0")
        body = f"""
  %ze = arith.constant {zero}{"" if element == "i1" else " : " + element}
  %i = "fuse.load"(%x1, %true, %z_i64) {{at = ["d0"]}} : (X1, i1, i64) -> i64
  %v = "fuse.load"(%x0, %true, %ze, %i) {{at = ["i0"]}} : (X0, i1, {element}, i64) -> {element}
  %r0 = "fuse.store"(%o0, %v, %true, %i) {{at = ["i0"], mode = "set"}} : (O0, {element}, i1, i64) -> O0"""
        (y,) = run_kernel([x, torch.tensor([4, 2, 0, 1, 3])], [torch.empty(5, dtype=dtype)], {"d0": 5}, body)
        assert y.dtype == dtype and y.float().tolist() == x.float().tolist()


def test_in_place_update_reads_the_old_contents():
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["d0"]} : (X0, i1, f32) -> f32
  %d = arith.addf %v, %v : f32
  %r0 = "fuse.store"(%x0, %d, %true) {at = ["d0"], mode = "set"} : (X0, f32, i1) -> O0
  %r1 = "fuse.store"(%o1, %v, %true) {at = ["d0"], mode = "set"} : (O1, f32, i1) -> O1"""
    x = torch.arange(3.0)
    text = module_text([x], [x, x], {"d0": 3}, body).replace("array<i64: 1, 2>", "array<i64: 0, 2>")
    new, old = run_module(ir.Module.parse(text, make_context()), [x])
    assert new.tolist() == [0, 2, 4] and old.tolist() == [0, 1, 2] and x.tolist() == [0, 2, 4]


DIGITS = (
    "d0 floordiv 6", "d0 mod 6", "(d0 floordiv 3) mod 4", "d0 mod 3", "(d0 floordiv 2) mod 3", "5 - d1", "d1 + 2", "d1 floordiv 2",
    "(d0*2 + d1) mod 5", "(d0*3) mod 4", "3 - d0 floordiv 6", "d0 floordiv 24", "d0 mod 48", "d0 floordiv 5", "(d0 mod 12) floordiv 3", "0", "7",
)  # fmt: skip


@st.composite
def chains(draw: st.DrawFn) -> str:
    """Up to three divisions and remainders of one another, by numbers that need not divide each other."""
    text = "d0"
    for _ in range(draw(st.integers(1, 3))):
        text = f"({text}) {draw(st.sampled_from(['mod', 'floordiv']))} {draw(st.integers(2, 12))}"
    return text


digits = st.sampled_from(DIGITS) | chains()


@given(st.lists(digits, min_size=2, max_size=2), st.sampled_from([6, 12, 24, 23, 36, 60, 72]), st.booleans())
@example(["(d0 mod 9) mod 6", "0"], 36, False)
@example(["(d0 mod 9) floordiv 6", "(d0 mod 10) mod 4"], 60, False)
def test_strides_agree_with_offsets(coordinates, extent, transposed):
    """Wherever an access becomes a strided view, it reads and writes what offsets computed point by point
    do.
    """
    tensor = torch.arange(64.0).reshape(8, 8)
    tensor = tensor.T if transposed else tensor
    names, counts = ("d0", "d1"), (extent, 3)
    exprs = [parse(c) for c in coordinates]
    found = strided(exprs, tensor, names, (0, 0), counts)
    points = {"d0": torch.arange(extent).reshape(-1, 1), "d1": torch.arange(3).reshape(1, -1)}
    where = [torch.as_tensor(e.evaluate(points)).broadcast_to(extent, 3) for e in exprs]
    inside = all(((w >= 0) & (w < 8)).all() for w in where)
    if found is None:
        return
    assert inside
    expected = tensor[where[0], where[1]]
    assert torch.equal(found.read(tensor).expand(extent, 3), expected)
    if found.is_injective and found.takes((extent, 3)):
        value = torch.rand(extent, 3)
        copy = tensor.clone()
        found.write(copy, value, None)
        other = tensor.clone()
        other[where[0], where[1]] = value
        assert torch.equal(copy, other)


@given(
    st.lists(
        st.sampled_from(DIGITS + ("d0 - 3", "d0 floordiv 6 - 2", "9 - d0", "d0*2 - 1")) | chains(),
        min_size=2,
        max_size=2,
    ),
    st.sampled_from([6, 24]),
    st.integers(0, 1000),
)
def test_clipped_boxes_agree_with_offsets(coordinates, extent, seed):
    """A guarded load whose box is clipped gives what a load point by point gives; a guard outside the box is
    noticed.
    """
    tensor = torch.arange(64.0).reshape(8, 8)
    exprs = [parse(c) for c in coordinates]
    found = clipped(exprs, tensor, ("d0", "d1"), (0, 0), (extent, 3))
    if found is None:
        return
    points = {"d0": torch.arange(extent).reshape(-1, 1), "d1": torch.arange(3).reshape(1, -1)}
    where = [torch.as_tensor(e.evaluate(points)).broadcast_to(extent, 3) for e in exprs]
    inside = torch.stack([(w >= 0) & (w < 8) for w in where]).all(0)
    other = torch.full((1, 1), -1.0)
    expected = torch.where(inside, tensor[where[0].clamp(0, 7), where[1].clamp(0, 7)], other)
    assert torch.equal(found.read(tensor, inside, other), expected)
    some = inside & (torch.rand(extent, 3, generator=torch.Generator().manual_seed(seed)) < 0.5)
    assert torch.equal(found.read(tensor, some, other), torch.where(some, expected, other))
    if not inside.all():
        assert found.read(tensor, torch.ones(extent, 3, dtype=torch.bool), other) is None


@pytest.mark.parametrize(
    "coordinates", [("d0 floordiv 6", "d0 mod 6"), ("(d0 floordiv 3) mod 4", "5 - d1"), ("d0 mod 3", "0")]
)
def test_flattened_dims_have_strides(coordinates):
    assert (
        strided([parse(c) for c in coordinates], torch.zeros(8, 8), ("d0", "d1"), (0, 0), (24, 3)) is not None
    )


SHIFTED = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["LOAD"]} : (X0, i1, f32) -> f32
  %r0 = "fuse.store"(%x1, %v, %true) {at = ["d0"], mode = "set"} : (X1, f32, i1) -> O0"""


def aliased(load_at: str, dims: int, x: torch.Tensor, y: torch.Tensor):
    """A kernel that stores to its second argument, run on two views of one storage."""
    text = module_text([x, y], [y], {"d0": dims}, SHIFTED.replace("LOAD", load_at)).replace(
        "array<i64: 2>", "array<i64: 1>"
    )
    return run_module(ir.Module.parse(text, make_context()), [x, y])[0]


def test_reading_what_another_point_stores_is_a_race():
    """All points at once would hide it: each reads its neighbour, which another point overwrites."""
    x = torch.arange(8.0)
    with pytest.raises(RaceError, match="reads elements that another point of the kernel stores"):
        aliased("d0 + 1", 7, x, x)
    assert aliased("d0", 8, x, x).tolist() == list(range(8))
    halves = torch.arange(8.0)
    assert aliased("d0 + 4", 4, halves, halves).tolist()[:4] == [4.0, 5.0, 6.0, 7.0]


def test_reading_what_another_point_stores_at_an_equal_index_is_a_race():
    body = """
  %z = arith.constant 0 : i64
  %at = "fuse.load"(%x0, %true, %z) {at = ["d0"]} : (X0, i1, i64) -> i64
  %v = "fuse.load"(%x1, %true, %z_f32, %at) {at = ["i0"]} : (X1, i1, f32, i64) -> f32
  %n = arith.negf %v : f32
  %r0 = "fuse.store"(%x1, %n, %true, %at) {at = ["i0"], mode = "set"} : (X1, f32, i1, i64) -> X1"""

    def negated(*places: int) -> list[float]:
        i, x = torch.tensor(places), torch.arange(4.0)
        text = module_text([i, x], [x], {"d0": len(places)}, body).replace("array<i64: 2>", "array<i64: 1>")
        return run_module(ir.Module.parse(text, make_context()), [i, x])[0].tolist()

    assert negated(3, 1) == [0, -1, 2, -3]
    with pytest.raises(RaceError, match="reads elements that another point of the kernel stores"):
        negated(3, 1, 3)


def test_reading_after_the_store_is_refused():
    body = """
  %one = arith.constant 1.0 : f32
  %r0 = "fuse.store"(%x0, %one, %true) {at = ["d0"], mode = "set"} : (X0, f32, i1) -> O0
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["d0"]} : (X0, i1, f32) -> f32
  %r1 = "fuse.store"(%o1, %v, %true) {at = ["d0"], mode = "set"} : (O1, f32, i1) -> O1"""
    x = torch.arange(3.0)
    text = module_text([x], [x, x], {"d0": 3}, body).replace("array<i64: 1, 2>", "array<i64: 0, 2>")
    with pytest.raises(RaceError, match="or that are stored before"):
        run_module(ir.Module.parse(text, make_context()), [x])
