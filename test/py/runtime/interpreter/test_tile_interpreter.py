"""Tile code on the CPU: all programs of a grid at once, against torch; races and bad accesses are found."""
# ruff: noqa: E501  (modules as text)

import pytest
import torch

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.dialects import tt
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.errors import DeviceAssertError, OutOfBounds, RaceError
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.compiler.runtime.interpreter.tile_kernels import REGION_OPS, TERMINATORS, InterpretedTileKernel
from fuse_mlir.compiler.runtime.interpreter.tile_memory import Memory
from fuse_mlir.compiler.runtime.interpreter.tile_ops import TILE_OPS, libdevice


def launch(params: str, args: str, body: str, grid: str = '"4"', tie: int = 1) -> str:
    """A launch of ``@k_tt`` over tensors of 16 f32 elements; ``body`` sees ``%p``, ``%q``, .. as ``args``
    names them."""
    tensors = ", ".join(["tensor<16xf32>"] * params.count("ptr"))
    names = [f"%t{i}" for i in range(params.count("ptr"))]
    main = ", ".join(f"{n}: tensor<16xf32>" for n in names)
    return f"""
  func.func @main({main}) -> tensor<16xf32> {{
    %y = call @k({", ".join(names)}) : ({tensors}) -> tensor<16xf32>
    return %y : tensor<16xf32>
  }}
  func.func private @k({tensors}) -> tensor<16xf32> attributes {{fuse.launch = @k_tt, fuse.grid = [{grid}],
      fuse.params = [{params}], fuse.ties = array<i64: {tie}>}}
  "tt.func"() ({{^bb0({args}):
    {body}
    "tt.return"() : () -> ()
  }}) {{sym_name = "k_tt", sym_visibility = "public", function_type = ({", ".join(a.split(": ")[1] for a in args.split(", "))}) -> ()}} : () -> ()
"""


POINTERS = """
    %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %four = arith.constant 4 : i32
    %start = arith.muli %pid, %four : i32
    %r = "tt.make_range"() {start = 0 : i32, end = 4 : i32} : () -> tensor<4xi32>
    %ss = "tt.splat"(%start) : (i32) -> tensor<4xi32>
    %i = arith.addi %ss, %r : tensor<4xi32>
    %ps = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<4x!tt.ptr<f32>>
    %pp = "tt.addptr"(%ps, %i) : (tensor<4x!tt.ptr<f32>>, tensor<4xi32>) -> tensor<4x!tt.ptr<f32>>
    %qs = "tt.splat"(%q) : (!tt.ptr<f32>) -> tensor<4x!tt.ptr<f32>>
    %qp = "tt.addptr"(%qs, %i) : (tensor<4x!tt.ptr<f32>>, tensor<4xi32>) -> tensor<4x!tt.ptr<f32>>
"""
LOAD = '%x = "tt.load"(%pp) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x!tt.ptr<f32>>) -> tensor<4xf32>\n'
STORE = '"tt.store"(%qp, {}) : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>) -> ()\n'
TWO = ('"0:ptr", "1:ptr"', "%p: !tt.ptr<f32>, %q: !tt.ptr<f32>")


def run(text: str, *inputs, **options):
    return run_module(ir.Module.parse(text, make_context()), list(inputs), **options)


def test_elementwise_with_programs():
    body = POINTERS + LOAD + "%e = math.exp %x : tensor<4xf32>\n" + STORE.format("%e")
    x = torch.randn(16)
    (y,) = run(launch(*TWO, body), x, torch.zeros(16))
    assert torch.equal(y, x.exp())


def test_masked_load_and_store_touch_nothing_else():
    body = (
        POINTERS
        + """
    %n = arith.constant dense<13> : tensor<4xi32>
    %m = arith.cmpi slt, %i, %n : tensor<4xi32>
    %z = arith.constant dense<7.0> : tensor<4xf32>
    %x = "tt.load"(%pp, %m, %z) {operandSegmentSizes = array<i32: 1, 1, 1>}
        : (tensor<4x!tt.ptr<f32>>, tensor<4xi1>, tensor<4xf32>) -> tensor<4xf32>
    "tt.store"(%qp, %x, %m) : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>, tensor<4xi1>) -> ()
"""
    )
    x = torch.randn(16)
    (y,) = run(launch(*TWO, body), x, torch.full((16,), -1.0))
    assert torch.equal(y[:13], x[:13]) and torch.equal(y[13:], torch.full((3,), -1.0))


def test_undefined_lanes_are_poison():
    body = (
        POINTERS
        + """
    %n = arith.constant dense<13> : tensor<4xi32>
    %m = arith.cmpi slt, %i, %n : tensor<4xi32>
    %x = "tt.load"(%pp, %m) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x!tt.ptr<f32>>, tensor<4xi1>) -> tensor<4xf32>
"""
        + STORE.format("%x")
    )
    (y,) = run(launch(*TWO, body), torch.randn(16), torch.zeros(16))
    assert y[13:].isnan().all() and not y[:13].isnan().any()


def test_out_of_bounds_is_located():
    body = POINTERS + LOAD + STORE.format("%x")
    with pytest.raises(OutOfBounds, match=r"tt\.load accesses offset 19 .* at -:20$"):
        run(launch(*TWO, body, grid='"5"'), torch.randn(16), torch.zeros(16))


def test_neighbour_read_is_a_race():
    """Lock step hides it: every program updates its own elements and then reads its neighbour's."""
    shifted = """
    %one = arith.constant dense<1> : tensor<4xi32>
    %in = arith.addi %i, %one : tensor<4xi32>
    %lim = arith.constant dense<16> : tensor<4xi32>
    %ok = arith.cmpi slt, %in, %lim : tensor<4xi32>
    %np = "tt.addptr"(%ps, %in) : (tensor<4x!tt.ptr<f32>>, tensor<4xi32>) -> tensor<4x!tt.ptr<f32>>
    %w = "tt.load"(%np, %ok) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x!tt.ptr<f32>>, tensor<4xi1>) -> tensor<4xf32>
    "tt.store"(%qp, %w, %ok) : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>, tensor<4xi1>) -> ()
"""
    update = LOAD + '"tt.store"(%pp, %x) : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>) -> ()\n'
    with pytest.raises(RaceError, match="another program writes"):
        run(launch(*TWO, POINTERS + update + shifted), torch.randn(16), torch.zeros(16))
    (y,) = run(launch(*TWO, POINTERS + shifted), torch.arange(16.0), torch.zeros(16))
    assert torch.equal(y[:15], torch.arange(1.0, 16.0))


PID = """
    %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %v = arith.sitofp %pid : i32 to f32
    "tt.store"(%q, %v) : (!tt.ptr<f32>, f32) -> ()
"""


def test_two_programs_writing_different_values_race():
    with pytest.raises(
        RaceError, match=r"tt\.store sets element 0 of its storage twice, to different values"
    ):
        run(launch(*TWO, PID), torch.randn(16), torch.zeros(16))
    (y,) = run(launch(*TWO, PID, grid='"1"'), torch.randn(16), torch.ones(16))
    assert y[0] == 0


def test_two_programs_may_write_the_same_value():
    body = '%c = arith.constant 1.0 : f32\n"tt.store"(%q, %c) : (!tt.ptr<f32>, f32) -> ()'
    (y,) = run(launch(*TWO, body), torch.randn(16), torch.zeros(16))
    assert y[0] == 1


def kernel_of(text: str, **options) -> InterpretedTileKernel:
    module = ir.Module.parse(text, make_context())
    functions = {ir.StringAttr(o.attributes["sym_name"]).value: o.operation for o in module.body.operations}
    return InterpretedTileKernel(functions["k"], functions, **options)


def test_a_launch_that_is_not_checked_has_no_races():
    [storage] = Memory.of([torch.zeros(4)], checked=False)._storages.values()
    for program in (0, 1):
        storage.touch("write", torch.tensor([2]), torch.tensor([program]), 4, None)


def test_a_race_between_batches_is_found():
    with pytest.raises(RaceError, match="writes element 0 of a storage that another program writes"):
        kernel_of(launch(*TWO, PID), batch_elements=1)([torch.randn(16), torch.zeros(16)])


def test_batches_give_what_one_batch_gives():
    text = launch(*TWO, POINTERS + LOAD + "%e = math.exp %x : tensor<4xf32>\n" + STORE.format("%e"))
    x = torch.randn(16)
    (y,) = kernel_of(text, batch_elements=4)([x, torch.zeros(16)])
    assert torch.equal(y, x.exp())


@pytest.mark.parametrize("used", [False, True])
def test_atomic_add_in_program_order(used):
    keep = STORE.format("%old") if used else ""
    body = (
        POINTERS
        + LOAD
        + """
    %ts = "tt.splat"(%t) : (!tt.ptr<f32>) -> tensor<4x!tt.ptr<f32>>
    %tp = "tt.addptr"(%ts, %r) : (tensor<4x!tt.ptr<f32>>, tensor<4xi32>) -> tensor<4x!tt.ptr<f32>>
    %old = "tt.atomic_rmw"(%tp, %x) {atomic_rmw_op = 5 : i32, sem = 1 : i32, scope = 1 : i32}
        : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>) -> tensor<4xf32>
"""
        + keep
    )
    text = launch(
        '"0:ptr", "1:ptr", "2:ptr"', "%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %t: !tt.ptr<f32>", body, tie=2
    )
    x, q = torch.arange(16.0), torch.zeros(16)
    (t,) = run(text, x, q, torch.zeros(16))
    assert torch.equal(t[:4], x.reshape(4, 4).sum(0))
    if used:
        before = torch.cat([torch.zeros(1, 4), x.reshape(4, 4).cumsum(0)[:3]])
        assert torch.equal(q.reshape(4, 4), before)


def test_tickets_and_compare_and_swap():
    """Program order: the ticket of program n is n; only program 0's swap finds the old value."""
    body = """
    %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %old = "tt.atomic_rmw"(%p, %one) {atomic_rmw_op = 5 : i32, sem = 4 : i32, scope = 1 : i32} : (!tt.ptr<f32>, f32) -> f32
    %c = arith.constant 15 : i32
    %lp = "tt.addptr"(%p, %c) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %seen = "tt.atomic_cas"(%lp, %zero, %one) {sem = 4 : i32, scope = 1 : i32} : (!tt.ptr<f32>, f32, f32) -> f32
    %s = arith.addf %old, %seen : f32
    %qp = "tt.addptr"(%q, %pid) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    "tt.store"(%qp, %s) : (!tt.ptr<f32>, f32) -> ()
"""
    (y,) = run(launch(*TWO, body), torch.zeros(16), torch.zeros(16))
    assert y[:4].tolist() == [0.0, 2.0, 3.0, 4.0]


def test_reduce_with_a_region_of_two():
    body = (
        POINTERS
        + LOAD
        + """
    %b:2 = "tt.reduce_2"(%x, %i) ({^bb0(%v: f32, %n: i32, %w: f32, %k: i32):
      %gt = arith.cmpf ogt, %v, %w : f32
      %a = arith.select %gt, %v, %w : f32
      %c = arith.select %gt, %n, %k : i32
      "tt.reduce_return_2"(%a, %c) : (f32, i32) -> ()
    }) {axis = 0 : i32} : (tensor<4xf32>, tensor<4xi32>) -> (f32, i32)
    %f = arith.sitofp %b#1 : i32 to f32
    %fs = "tt.splat"(%f) : (f32) -> tensor<4xf32>
"""
        + STORE.format("%fs")
    )
    x = torch.randn(16)
    (y,) = run(launch(*TWO, body), x, torch.zeros(16))
    best = x.reshape(4, 4).argmax(1) + torch.arange(4) * 4
    assert torch.equal(y.reshape(4, 4)[:, 0].long(), best)


@pytest.mark.parametrize("reverse", ["false", "true"])
def test_scan(reverse):
    body = (
        POINTERS
        + LOAD
        + f"""
    %s = "tt.scan"(%x) ({{^bb0(%v: f32, %w: f32):
      %a = arith.addf %v, %w : f32
      "tt.scan_return"(%a) : (f32) -> ()
    }}) {{axis = 0 : i32, reverse = {reverse}}} : (tensor<4xf32>) -> tensor<4xf32>
"""
        + STORE.format("%s")
    )
    x = torch.arange(16.0)
    (y,) = run(launch(*TWO, body), x, torch.zeros(16))
    rows = x.reshape(4, 4)
    expected = rows.flip(1).cumsum(1).flip(1) if reverse == "true" else rows.cumsum(1)
    assert torch.equal(y.reshape(4, 4), expected)


@pytest.mark.parametrize("bound", ["%four", "%pid"])
def test_for_with_uniform_and_divergent_bounds(bound):
    body = (
        POINTERS
        + LOAD
        + f"""
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %s = scf.for %k = %zero to {bound} step %one iter_args(%acc = %x) -> (tensor<4xf32>) : i32 {{
      %a = arith.addf %acc, %x : tensor<4xf32>
      scf.yield %a : tensor<4xf32>
    }}
"""
        + STORE.format("%s")
    )
    x = torch.arange(16.0)
    (y,) = run(launch(*TWO, body), x, torch.zeros(16))
    times = torch.full((4, 1), 5.0) if bound == "%four" else torch.arange(1.0, 5.0).unsqueeze(1)
    assert torch.equal(y.reshape(4, 4), x.reshape(4, 4) * times)


def test_divergent_if_does_not_access_for_the_others():
    body = (
        POINTERS
        + """
    %two = arith.constant 2 : i32
    %first = arith.cmpi slt, %pid, %two : i32
    %z = arith.constant dense<-1.0> : tensor<4xf32>
    %far = arith.constant dense<8> : tensor<4xi32>
    %v = scf.if %first -> (tensor<4xf32>) {
      %fp = "tt.addptr"(%pp, %far) : (tensor<4x!tt.ptr<f32>>, tensor<4xi32>) -> tensor<4x!tt.ptr<f32>>
      %x = "tt.load"(%fp) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x!tt.ptr<f32>>) -> tensor<4xf32>
      scf.yield %x : tensor<4xf32>
    } else {
      scf.yield %z : tensor<4xf32>
    }
"""
        + STORE.format("%v")
    )
    x = torch.arange(16.0)
    (y,) = run(launch(*TWO, body), x, torch.zeros(16))
    assert torch.equal(y, torch.cat([x[8:], torch.full((8,), -1.0)]))


def test_divergent_while():
    """Halve until below 1: as many steps as each program needs."""
    body = """
    %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %pp = "tt.addptr"(%p, %pid) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %qp = "tt.addptr"(%q, %pid) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %x = "tt.load"(%pp) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %zero = arith.constant 0.0 : f32
    %r:2 = scf.while (%v = %x, %n = %zero) : (f32, f32) -> (f32, f32) {
      %go = arith.cmpf oge, %v, %one : f32
      scf.condition(%go) %v, %n : f32, f32
    } do {
    ^bb0(%v: f32, %n: f32):
      %h = arith.mulf %v, %half : f32
      %m = arith.addf %n, %one : f32
      scf.yield %h, %m : f32, f32
    }
    "tt.store"(%qp, %r#1) : (!tt.ptr<f32>, f32) -> ()
"""
    x = torch.tensor([0.5, 1.0, 9.0, 3.0] + [0.0] * 12)
    (y,) = run(launch(*TWO, body), x, torch.zeros(16))
    assert y[:4].tolist() == [0.0, 1.0, 4.0, 2.0]


def test_tile_dot_and_shapes():
    body = """
    %r = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %c16 = arith.constant dense<16> : tensor<16x1xi32>
    %row = "tt.expand_dims"(%r) {axis = 1 : i32} : (tensor<16xi32>) -> tensor<16x1xi32>
    %col = "tt.expand_dims"(%r) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
    %rs = arith.muli %row, %c16 : tensor<16x1xi32>
    %rb = "tt.broadcast"(%rs) : (tensor<16x1xi32>) -> tensor<16x16xi32>
    %cb = "tt.broadcast"(%col) : (tensor<1x16xi32>) -> tensor<16x16xi32>
    %i = arith.addi %rb, %cb : tensor<16x16xi32>
    %ps = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
    %pp = "tt.addptr"(%ps, %i) : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>) -> tensor<16x16x!tt.ptr<f32>>
    %qs = "tt.splat"(%q) : (!tt.ptr<f32>) -> tensor<16x16x!tt.ptr<f32>>
    %qp = "tt.addptr"(%qs, %i) : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>) -> tensor<16x16x!tt.ptr<f32>>
    %a = "tt.load"(%pp) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x16x!tt.ptr<f32>>) -> tensor<16x16xf32>
    %t = "tt.trans"(%a) {order = array<i32: 1, 0>} : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %one = arith.constant dense<1.0> : tensor<16x16xf32>
    %d = "tt.dot"(%a, %t, %one) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32}
        : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %f = "tt.reshape"(%d) : (tensor<16x16xf32>) -> tensor<256xf32>
    %g = "tt.reshape"(%f) : (tensor<256xf32>) -> tensor<16x16xf32>
    "tt.store"(%qp, %g) : (tensor<16x16x!tt.ptr<f32>>, tensor<16x16xf32>) -> ()
"""
    x = torch.randn(256)
    text = launch(*TWO, body, grid='"1"').replace("tensor<16xf32>", "tensor<256xf32>")
    (y,) = run(text, x, torch.zeros(256))
    a = x.reshape(16, 16).double()
    torch.testing.assert_close(y.reshape(16, 16).double(), a @ a.T + 1, rtol=1e-5, atol=1e-5)


def test_assert_names_the_message():
    body = """
    %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %three = arith.constant 3 : i32
    %ok = arith.cmpi slt, %pid, %three : i32
    "tt.assert"(%ok) {message = "too far"} : (i1) -> ()
"""
    with pytest.raises(DeviceAssertError, match="too far"):
        run(launch(*TWO, body), torch.zeros(16), torch.zeros(16))
    run(launch(*TWO, body, grid='"3"'), torch.zeros(16), torch.zeros(16))


def test_tiled_kernel_with_base_and_symbol():
    """The tiled level: tensors, ``fuse.base``, a size; a grid of two axes; the offset of a view counts."""
    layout = '#fuse.layout<"s0,4", "4,1", "4", "cpu">'
    text = f"""
  func.func @main(%x: tensor<?x4xf32, {layout}>, %s0: index {{fuse.sym = "s0"}}) -> tensor<?x4xf32, {layout}> {{
    %y = call @k(%x, %s0) : (tensor<?x4xf32, {layout}>, index) -> tensor<?x4xf32, {layout}>
    return %y : tensor<?x4xf32, {layout}>
  }}
  func.func private @k(%x: tensor<?x4xf32, {layout}>, %s0: index {{fuse.sym = "s0"}}) -> tensor<?x4xf32, {layout}>
      attributes {{fuse.kernel, fuse.dims = {{d0 = "s0", d1 = "4"}}, fuse.grid = ["(s0 + 1) floordiv 2", "2"], fuse.ties = array<i64: 0>}} {{
    %p = "fuse.base"(%x) : (tensor<?x4xf32, {layout}>) -> !tt.ptr<f32>
    %n = arith.index_cast %s0 : index to i32
    %a = "tt.get_program_id"() {{axis = 0 : i32}} : () -> i32
    %b = "tt.get_program_id"() {{axis = 1 : i32}} : () -> i32
    %two = arith.constant 2 : i32
    %r = "tt.make_range"() {{start = 0 : i32, end = 2 : i32}} : () -> tensor<2xi32>
    %as = arith.muli %a, %two : i32
    %asp = "tt.splat"(%as) : (i32) -> tensor<2xi32>
    %row = arith.addi %asp, %r : tensor<2xi32>
    %ns = "tt.splat"(%n) : (i32) -> tensor<2xi32>
    %m = arith.cmpi slt, %row, %ns : tensor<2xi32>
    %four = arith.constant dense<4> : tensor<2xi32>
    %ro = arith.muli %row, %four : tensor<2xi32>
    %bs = arith.muli %b, %two : i32
    %bsp = "tt.splat"(%bs) : (i32) -> tensor<2xi32>
    %o = arith.addi %ro, %bsp : tensor<2xi32>
    %ps = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<2x!tt.ptr<f32>>
    %pp = "tt.addptr"(%ps, %o) : (tensor<2x!tt.ptr<f32>>, tensor<2xi32>) -> tensor<2x!tt.ptr<f32>>
    %pidf = arith.sitofp %b : i32 to f32
    %v = "tt.splat"(%pidf) : (f32) -> tensor<2xf32>
    "tt.store"(%pp, %v, %m) : (tensor<2x!tt.ptr<f32>>, tensor<2xf32>, tensor<2xi1>) -> ()
    return %x : tensor<?x4xf32, {layout}>
  }}
"""
    memory = torch.full((16,), -1.0)
    (y,) = run(text, memory[4:].reshape(3, 4), 3)
    assert torch.equal(memory[:4], torch.full((4,), -1.0))
    assert torch.equal(y, torch.tensor([[0.0, -1.0, 1.0, -1.0]] * 3))


@pytest.mark.parametrize(
    "symbol, x, y",
    [
        ("__nv_erff", 0.5, 0.5204998778),
        ("__nv_rintf", 2.5, 2.0),
        ("__nv_roundf", 2.5, 3.0),
        ("__nv_tgamma", 5.0, 24.0),
    ],
)
def test_libdevice(symbol, x, y):
    assert libdevice(symbol)(torch.tensor(x)).item() == pytest.approx(y, rel=1e-6)


def test_every_op_of_the_mirror_is_known():
    names = {
        op.OPERATION_NAME
        for op in vars(tt).values()
        if isinstance(op, type) and getattr(op, "OPERATION_NAME", "").startswith("tt.")
    }
    assert len(names) > 30
    assert names - TILE_OPS.keys() - REGION_OPS.keys() - TERMINATORS == {"tt.func"}


def test_tensors_at_one_address_share_the_longest_of_their_storages():
    """A launch plan has addresses alone: what an argument begins with may be an argument, too."""
    whole = torch.arange(16.0)
    part = torch.frombuffer(whole.numpy(), dtype=torch.float32, count=8)
    for given in ([part, whole], [whole, part]):
        window = Memory.of(given, checked=True).base(whole).window
        where = torch.arange(16)
        assert torch.equal(window.read(where, where, None), whole)
