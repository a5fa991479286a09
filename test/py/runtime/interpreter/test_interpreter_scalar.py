"""Folds, random numbers and assertions of scalar kernels on the CPU."""

import math

import numpy as np
import pytest
import torch
from scalar_kernel_text import ROWS, close, module_text, pointwise, run_kernel

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime import rng
from fuse_mlir.compiler.runtime.errors import DeviceAssertError, RunError
from fuse_mlir.compiler.runtime.interpreter.scalar.scalar_kernels import ScalarKernel

# --- folds --------------------------------------------------------------------------------------------------


def fold_body(op: str, element: str = "f32", out: str | None = None) -> str:
    out = out or element
    return f"""
  %n0 = arith.constant {"0.0" if element[0] == "f" else "0"} : {element}
  %v = "fuse.load"(%x0, %true, %n0) {{at = ["d0", "d1", "d2"]}} : (X0, i1, {element}) -> {element}
  {op}
  %r0 = "fuse.store"(%o0, %s, %true) {{at = ["d1"], mode = "set"}} : (O0, {out}, i1) -> O0"""


FOLDS = {
    "sum": lambda x: x.sum((0, 2)), "prod": lambda x: x.prod(2).prod(0),
    "max": lambda x: x.amax((0, 2)), "min": lambda x: x.amin((0, 2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(FOLDS))
def test_reduce(kind):
    x = torch.rand(3, 4, 5, generator=torch.Generator().manual_seed(1)) + 0.5
    op = f'%s = "fuse.reduce"(%v) {{kind = "{kind}", over = ["d0", "d2"]}} : (f32) -> f32'
    (y,) = run_kernel([x], [torch.empty(4)], {"d0": 3, "d1": 4, "d2": 5}, fold_body(op))
    close(y, FOLDS[kind](x.double()), rtol=1e-5)
    if kind in ("max", "min"):
        x[1, 2, 3] = math.nan
        (y,) = run_kernel([x], [torch.empty(4)], {"d0": 3, "d1": 4, "d2": 5}, fold_body(op))
        assert y.isnan().tolist() == [False, False, True, False]


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "any", "all", "xor"])
def test_reduce_of_integers(kind):
    x = torch.randint(-3, 4, (3, 4, 5), dtype=torch.int32, generator=torch.Generator().manual_seed(2))
    x[:, 1], x[:, 2] = 0, 7
    op = f'%s = "fuse.reduce"(%v) {{kind = "{kind}", over = ["d0", "d2"]}} : (i32) -> i32'
    (y,) = run_kernel(
        [x], [torch.empty(4, dtype=torch.int32)], {"d0": 3, "d1": 4, "d2": 5}, fold_body(op, "i32")
    )
    rows = x.permute(1, 0, 2).reshape(4, 15).numpy()
    of = {
        "sum": np.sum,
        "prod": np.prod,
        "max": np.max,
        "min": np.min,
        "any": np.any,
        "all": np.all,
        "xor": np.bitwise_xor.reduce,
    }[kind]
    assert y.tolist() == of(rows, 1).astype(np.int32).tolist()


@pytest.mark.parametrize("kind, empty", [("sum", 0.0), ("prod", 1.0), ("max", -math.inf), ("min", math.inf)])
def test_reduce_over_nothing(kind, empty):
    op = f'%s = "fuse.reduce"(%v) {{kind = "{kind}", over = ["d0", "d2"]}} : (f32) -> f32'
    (y,) = run_kernel([torch.empty(3, 4, 0)], [torch.empty(4)], {"d0": 3, "d1": 4, "d2": 0}, fold_body(op))
    assert y.tolist() == [empty] * 4


def test_reduce_counts_dims_that_the_value_lacks():
    body = """
  %one = arith.constant 1.0 : f32
  %s = "fuse.reduce"(%one) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %r0 = "fuse.store"(%o0, %s, %true) {at = ["d0"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([ROWS], [torch.empty(4)], {"d0": 4, "d1": 6}, body)
    assert y.tolist() == [6.0] * 4


@pytest.mark.parametrize("kind", ["argmax", "argmin"])
def test_argreduce(kind):
    x = torch.tensor([[1.0, 3.0, 3.0, -2.0], [math.nan, 9.0, math.nan, 0.0], [5.0, 5.0, 5.0, 5.0]])
    body = f"""
  %v = "fuse.load"(%x0, %true, %z_f32) {{at = ["d0", "d1"]}} : (X0, i1, f32) -> f32
  %i = "fuse.index"() {{expr = "d1"}} : () -> i64
  %b, %p = "fuse.argreduce"(%v, %i) {{kind = "{kind}", over = ["d1"]}} : (f32, i64) -> (f32, i64)
  %r0 = "fuse.store"(%o0, %b, %true) {{at = ["d0"], mode = "set"}} : (O0, f32, i1) -> O0
  %r1 = "fuse.store"(%o1, %p, %true) {{at = ["d0"], mode = "set"}} : (O1, i64, i1) -> O1"""
    best, place = run_kernel(
        [x], [torch.empty(3), torch.empty(3, dtype=torch.int64)], {"d0": 3, "d1": 4}, body
    )
    assert place.tolist() == ([1, 0, 0] if kind == "argmax" else [3, 0, 0])
    assert best[1].isnan() and best[0] == (3.0 if kind == "argmax" else -2.0)


def test_welford_and_online_softmax():
    x = torch.randn(4, 50, generator=torch.Generator().manual_seed(3)) + 100
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {{at = ["d0", "d1"]}} : (X0, i1, f32) -> f32
  %a, %b = "fuse.{0}"(%v) {{over = ["d1"]}} : (f32) -> (f32, f32)
  %r0 = "fuse.store"(%o0, %a, %true) {{at = ["d0"], mode = "set"}} : (O0, f32, i1) -> O0
  %r1 = "fuse.store"(%o1, %b, %true) {{at = ["d0"], mode = "set"}} : (O1, f32, i1) -> O1"""
    mean, m2 = run_kernel([x], [torch.empty(4), torch.empty(4)], {"d0": 4, "d1": 50}, body.format("welford"))
    close(mean, x.double().mean(1))
    close(m2, x.double().var(1, correction=0) * 50, rtol=1e-4)
    counted = (
        body.replace("(%v) ", "(%v, %w) ")
        .replace("(f32) ->", "(f32, f32) ->")
        .replace(
            "  %a,", '  %w = "fuse.load"(%x1, %true, %z_f32) {{at = ["d1"]}} : (X1, i1, f32) -> f32\n  %a,'
        )
    )
    weights = torch.arange(50.0) % 3
    given = [torch.where(weights == 0, torch.nan, x), weights]
    mean, m2 = run_kernel(
        given, [torch.empty(4), torch.empty(4)], {"d0": 4, "d1": 50}, counted.format("welford")
    )
    repeated = x.double().repeat_interleave(weights.long(), 1)
    close(mean, repeated.mean(1))
    close(m2, repeated.var(1, correction=0) * repeated.shape[1], rtol=1e-4)
    top, total = run_kernel(
        [x], [torch.empty(4), torch.empty(4)], {"d0": 4, "d1": 50}, body.format("online_softmax")
    )
    close(top, x.amax(1))
    close(total, (x.double() - x.double().amax(1, True)).exp().sum(1), rtol=1e-5)


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("reverse", ["false", "true"])
def test_scan(kind, reverse):
    x = torch.rand(3, 5, generator=torch.Generator().manual_seed(4)) + 0.5
    body = f"""
  %v = "fuse.load"(%x0, %true, %z_f32) {{at = ["d0", "d1"]}} : (X0, i1, f32) -> f32
  %s = "fuse.scan"(%v) {{kind = "{kind}", over = "d1", reverse = {reverse}}} : (f32) -> f32
  %r0 = "fuse.store"(%o0, %s, %true) {{at = ["d0", "d1"], mode = "set"}} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([x], [torch.empty(3, 5)], {"d0": 3, "d1": 5}, body)
    of = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[kind]
    rows = x.double().numpy()
    close(y, of.accumulate(rows[:, ::-1], 1)[:, ::-1].copy() if reverse == "true" else of.accumulate(rows, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dot(dtype):
    generator = torch.Generator().manual_seed(5)
    a, b = (
        torch.randn(2, 3, 5, generator=generator).to(dtype),
        torch.randn(2, 5, 4, generator=generator).to(dtype),
    )
    e = {torch.float32: "f32", torch.bfloat16: "bf16"}[dtype]
    body = f"""
  %n = arith.constant 0.0 : {e}
  %a = "fuse.load"(%x0, %true, %n) {{at = ["d0", "d1", "d3"]}} : (X0, i1, {e}) -> {e}
  %b = "fuse.load"(%x1, %true, %n) {{at = ["d0", "d3", "d2"]}} : (X1, i1, {e}) -> {e}
  %s = "fuse.dot"(%a, %b) {{over = ["d3"]}} : ({e}, {e}) -> f32
  %r0 = "fuse.store"(%o0, %s, %true) {{at = ["d0", "d1", "d2"], mode = "set"}} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([a, b], [torch.empty(2, 3, 4)], {"d0": 2, "d1": 3, "d2": 4, "d3": 5}, body)
    close(y, a.double() @ b.double(), rtol=1e-5)


def test_dot_where_an_operand_lacks_a_summed_dim():
    x = torch.arange(6.0).reshape(2, 3)
    body = """
  %a = "fuse.load"(%x0, %true, %z_f32) {at = ["d0", "d1"]} : (X0, i1, f32) -> f32
  %two = arith.constant 2.0 : f32
  %s = "fuse.dot"(%a, %two) {over = ["d1", "d2"]} : (f32, f32) -> f32
  %r0 = "fuse.store"(%o0, %s, %true) {at = ["d0"], mode = "set"} : (O0, f32, i1) -> O0"""
    (y,) = run_kernel([x], [torch.empty(2)], {"d0": 2, "d1": 3, "d2": 5}, body)
    assert torch.equal(y, x.sum(1) * 2 * 5)


# --- the rest -----------------------------------------------------------------------------------------------

MASK = 0xFFFFFFFF


def philox_reference(seed: int, offset: int, counter: int) -> list[int]:
    """Philox 4x32-10 in Python integers."""
    key = [seed & MASK, seed >> 32 & MASK]
    c = [counter & MASK, counter >> 32 & MASK, offset & MASK, offset >> 32 & MASK]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ key[0], b & MASK, a >> 32 ^ c[3] ^ key[1], a & MASK]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return c


def test_philox():
    """Random123's own vectors are in the reference's reach: the all-zero and the all-one block."""
    assert philox_reference(0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = (1 << 64) - 1
    assert philox_reference(ones, ones, ones) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    for seed, offset, counter in [(0, 0, 0), (-1, -1, -1), (123456789012345, 8, 77), (-5, 1 << 40, 1 << 33)]:
        words = rng.philox(*(torch.tensor(v) for v in (seed, offset, counter)))
        assert [w.item() for w in words] == philox_reference(seed % 2**64, offset % 2**64, counter % 2**64)


def test_rand_is_uniform_and_normal():
    body = """
  %i = "fuse.index"() {{expr = "d0"}} : () -> i64
  %seed = arith.constant 42 : i64
  %v = "fuse.rand"(%seed, %z_i64, %i) {{dist = "{0}"}} : (i64, i64, i64) -> f32
  %r0 = "fuse.store"(%o0, %v, %true) {{at = ["d0"], mode = "set"}} : (O0, f32, i1) -> O0"""
    (u,) = run_kernel([ROWS], [torch.empty(20000)], {"d0": 20000}, body.format("uniform"))
    word = philox_reference(42, 0, 7 // 4)[7 % 4]
    signed = word - (1 << 32) if word >> 31 else word
    expected = np.float32(signed if signed >= 0 else -signed - 1) * np.float32(4.6566127342e-10)
    assert u[7].item() == expected and u.min() >= 0 and u.max() < 1 and abs(u.mean() - 0.5) < 0.01
    (n,) = run_kernel([ROWS], [torch.empty(20000)], {"d0": 20000}, body.format("normal"))
    assert abs(n.mean()) < 0.03 and abs(n.std() - 1) < 0.03 and n.isfinite().all()


def test_device_assert_counts_only_guarded_points():
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["d0", "d1"]} : (X0, i1, f32) -> f32
  %lim = arith.constant 20.0 : f32
  %c = arith.cmpf olt, %v, %lim : f32
  %g = arith.cmpf olt, %v, GUARD : f32
  "fuse.device_assert"(%c, %g) {message = "too large"} : (i1, i1) -> ()
  %r0 = "fuse.store"(%o0, %v, %true) {at = ["d0", "d1"], mode = "set"} : (O0, f32, i1) -> O0"""
    run_kernel([ROWS], [torch.empty(4, 6)], {"d0": 4, "d1": 6}, body.replace("GUARD", "%lim"))
    with pytest.raises(DeviceAssertError, match="too large at "):
        thirty = "%b = arith.constant 30.0 : f32\n  %c = "
        run_kernel(
            [ROWS],
            [torch.empty(4, 6)],
            {"d0": 4, "d1": 6},
            body.replace("%c = ", thirty).replace("GUARD", "%b"),
        )


def test_large_kernels_run_in_parts():
    """Cut along a dim that every store has and no fold crosses; a dim that is folded is never cut."""
    x = torch.randn(37, 50, generator=torch.Generator().manual_seed(6))
    body = """
  %v = "fuse.load"(%x0, %true, %z_f32) {at = ["36 - d0", "d1"]} : (X0, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {kind = "sum", over = ["d1"]} : (f32) -> f32
  %i = "fuse.index"() {expr = "d0"} : () -> i64
  %f = arith.sitofp %i : i64 to f32
  %w = arith.addf %s, %f : f32
  %r0 = "fuse.store"(%o0, %w, %true) {at = ["36 - d0"], mode = "set"} : (O0, f32, i1) -> O0"""
    module = ir.Module.parse(module_text([x], [torch.empty(37)], {"d0": 37, "d1": 50}, body), make_context())
    kernel = ScalarKernel(
        next(o for o in module.body.operations if "fuse.kernel" in o.attributes).operation, part_elements=128
    )
    assert len(kernel._parts([37, 50])) > 10
    (y,) = kernel([x, torch.full((37,), math.nan)])
    close(y, x.double().sum(1) + 36 - torch.arange(37), rtol=1e-5)


def test_unknown_ops_are_refused():
    with pytest.raises(RunError, match=r"scalar code cannot have: arith\.flush_denormals at "):
        pointwise([torch.zeros(2)], torch.empty(2), "%v = arith.flush_denormals %a0 : f32")
