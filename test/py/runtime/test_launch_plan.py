"""The generated launch plan: its source, and that running it does what the planned module says (kernels
replaced by Python).
"""

import contextlib
import ctypes
from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fuse_mlir.compiler.index import const
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.plans.bound_plan import LaunchPlan, aligned
from fuse_mlir.compiler.runtime.plans.extern_function import bind_extern, bind_externs
from fuse_mlir.compiler.runtime.plans.externs import Arg, List
from fuse_mlir.compiler.runtime.plans.make_extern import extern_of
from fuse_mlir.compiler.runtime.plans.make_plan import make_plan
from fuse_mlir.compiler.runtime.plans.plan import Plan, PlanFunction
from fuse_mlir.compiler.runtime.plans.python_source import python_source
from fuse_mlir.compiler.runtime.plans.steps import (
    CallFunction,
    Constant,
    For,
    Return,
    Step,
    StepBlock,
    TensorType,
    Value,
    While,
)
from fuse_mlir.compiler.runtime.plans.validate import validate
from fuse_mlir.compiler.runtime.torch_names import _UNBOXED, fastest, resolve

LAYOUT = '#fuse.layout<"s0,4", "4,1", "0", "">'
MODULE = f"""
module attributes {{fuse.device = "cpu"}} {{
  func.func @main(%x: tensor<?x4xf32, {LAYOUT}>, %s0: index {{fuse.sym = "s0"}}, %state: tensor<4xf32>)
      -> (tensor<?xf32, #fuse.layout<"4*s0", "1", "0", "">>, tensor<4xf32>) {{
    %a = "fuse.alloc"(%s0) {{syms = ["s0"]}} : (index) -> tensor<?x4xf32, {LAYOUT}>
    %y = call @double(%x, %a, %s0) : (tensor<?x4xf32, {LAYOUT}>, tensor<?x4xf32, {LAYOUT}>, index) ->
    tensor<?x4xf32, {LAYOUT}>
    %z = call @torch_relu(%y) : (tensor<?x4xf32, {LAYOUT}>) -> tensor<?x4xf32, {LAYOUT}>
    %b = "fuse.reuse"(%y, %s0) {{operandSegmentSizes = array<i32: 1, 1>, syms = ["s0"]}}
        : (tensor<?x4xf32, {LAYOUT}>, index) -> tensor<?x4xf32, {LAYOUT}>
    %w = call @double(%z, %b, %s0) : (tensor<?x4xf32, {LAYOUT}>, tensor<?x4xf32, {LAYOUT}>, index) ->
    tensor<?x4xf32, {LAYOUT}>
    "fuse.free"(%z) : (tensor<?x4xf32, {LAYOUT}>) -> ()
    %v = "fuse.view"(%w, %s0) {{map = ["v0 floordiv 4", "v0 mod 4"], syms = ["s0"]}}
        : (tensor<?x4xf32, {LAYOUT}>, index) -> tensor<?xf32, #fuse.layout<"4*s0", "1", "0", "">>
    %new = call @double_state(%state, %state) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %v, %new : tensor<?xf32, #fuse.layout<"4*s0", "1", "0", "">>, tensor<4xf32>
  }}
  func.func private @double(tensor<?x4xf32, {LAYOUT}>, tensor<?x4xf32, {LAYOUT}>, index) -> tensor<?x4xf32,
  {LAYOUT}>
      attributes {{fuse.launch = @double_tt, fuse.grid = ["(s0 + 1) floordiv 2"], fuse.params = ["0:ptr",
      "1:ptr", "2:i32"], fuse.ties = array<i64: 1>}}
  func.func private @double_state(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      attributes {{fuse.launch = @double_state_tt, fuse.grid = ["1"], fuse.params = ["0:ptr", "1:ptr"],
      fuse.ties = array<i64: 1>}}
  func.func private @torch_relu(tensor<?x4xf32, {LAYOUT}>) -> tensor<?x4xf32, {LAYOUT}>
      attributes {{fuse.extern = "aten.relu.default", fuse.args = [#fuse.arg<0 : i64>], fuse.kwargs = {{}}}}
}}
"""


class Recorder:
    """A launcher that doubles floats and remembers grids."""

    def __init__(self, count: int | None = None) -> None:
        self.grids: list[tuple[int, int, int]] = []
        self.pointers: list[tuple[int, int]] = []
        self.count = count

    def __call__(
        self, stream: int, gx: int, gy: int, gz: int, source: int, target: int, rows: int = 1
    ) -> None:
        self.grids.append((gx, gy, gz))
        self.pointers.append((source, target))
        array = ctypes.c_float * (4 * rows)
        array.from_address(target)[:] = [2 * v for v in array.from_address(source)]


@pytest.fixture
def module() -> ir.Module:
    context = make_context()
    with context, ir.Location.unknown():
        return ir.Module.parse(MODULE)


def bind(module: ir.Module) -> tuple[LaunchPlan, Recorder, Recorder]:
    plan = make_plan(module)
    externs = bind_externs(plan, {})
    double, state = Recorder(), Recorder()
    bound = LaunchPlan.bind(
        plan, {"double": double, "double_state": state}, externs, lambda device, count: (0, 0)
    )
    return bound, double, state


def test_runs_the_module(module: ir.Module) -> None:
    run, double, _ = bind(module)
    x, state = torch.randn(5, 4), torch.arange(4.0)
    caller_state = state
    args = [x, 5, state]
    result, new_state = run(args)
    assert args == []
    torch.testing.assert_close(result, (2 * torch.relu(2 * x)).reshape(-1), rtol=0, atol=0)
    torch.testing.assert_close(caller_state, 2 * torch.arange(4.0), rtol=0, atol=0)
    assert new_state is caller_state
    assert double.grids == [(3, 1, 1), (3, 1, 1)]
    assert double.pointers[1][1] == double.pointers[0][1], (
        "the second destination takes over the first one's storage"
    )


def test_a_plan_is_loaded_once_at_its_first_call(module: ir.Module) -> None:
    loaded: list[LaunchPlan] = []
    failures = [RuntimeError("no kernel")]

    def load() -> LaunchPlan:
        if failures:
            raise failures.pop()
        loaded.append(bind(module)[0])
        return loaded[-1]

    plan = LaunchPlan.at_first_call(make_plan(module), load)
    x = torch.randn(5, 4)
    with pytest.raises(RuntimeError, match="no kernel"):
        plan([x, 5, torch.arange(4.0)])
    for _ in range(2):
        result, _ = plan([x, 5, torch.arange(4.0)])
        torch.testing.assert_close(result, (2 * torch.relu(2 * x)).reshape(-1), rtol=0, atol=0)
    assert len(loaded) == 1 and plan.run is loaded[0].run


@pytest.mark.parametrize(
    ("devices", "current", "asked", "switched"), [(1, 0, 0, 0), (2, 0, 2, 0), (2, 1, 2, 2)]
)
def test_the_current_device_is_asked_where_there_are_several(
    module: ir.Module, monkeypatch, devices, current, asked, switched
) -> None:
    asks: list[int] = []
    switches: list[int] = []

    def switch(device: int) -> contextlib.nullcontext[None]:
        switches.append(device)
        return contextlib.nullcontext()

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: devices)
    monkeypatch.setattr(torch.cuda, "device", switch)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: asks.append(1) or current, raising=False)
    run, double, _ = bind(module)
    run([torch.randn(5, 4), 5, torch.randn(4)])
    run.of_arguments()(torch.randn(5, 4), 5, torch.randn(4))
    assert len(double.grids) == 4
    # `of_arguments` asks once more on its way to another device
    assert (len(asks), len(switches)) == (asked + bool(switched), switched)


@pytest.mark.parametrize("away", [1, 2, 3])
def test_misaligned_arguments_are_copied_and_copied_back(module: ir.Module, away: int) -> None:
    """``away``: elements of 4 bytes from where a kernel may read 16 bytes at once."""
    run, double, state_launches = bind(module)
    storage, state_storage = torch.randn(20 + away), torch.arange(4.0 + away)
    x, state = storage[away:].view(5, 4), state_storage[away:]
    expected = torch.cat([state_storage[:away], 2 * state])
    result, _ = run([x, 5, state])
    torch.testing.assert_close(result, (2 * torch.relu(2 * x)).reshape(-1), rtol=0, atol=0)
    torch.testing.assert_close(state_storage, expected, rtol=0, atol=0)
    assert all(pointer % 16 == 0 for pair in (*double.pointers, *state_launches.pointers) for pointer in pair)


def test_source_is_straight_line_and_stable(module: ir.Module) -> None:
    source = python_source(make_plan(module))
    assert source == python_source(make_plan(module))
    assert "launch_double(stream, (s0 + 1) // 2, 1, 1, a0_p, " in source
    assert "[" not in source.split("return")[0].replace("extern_torch_relu([", ""), source


def test_arguments_are_let_go_after_their_last_use(module: ir.Module) -> None:
    lines = python_source(make_plan(module)).splitlines()
    launches = [i for i, line in enumerate(lines) if "launch_double(" in line]
    assert lines[launches[0] + 1].strip() == "del a0", "x is read by the first launch only"
    assert not any("del a2" in line for line in lines), "the mutated state is returned"


def test_extern_result_of_another_layout_is_refused(module: ir.Module) -> None:
    plan = make_plan(module)
    bound = LaunchPlan.bind(
        plan,
        {"double": Recorder(), "double_state": Recorder()},
        {"torch_relu": lambda x: x.t()},
        lambda d, c: (0, 0),
    )
    with pytest.raises((AssertionError, RuntimeError), match=r"(?i)size|stride"):
        bound([torch.randn(5, 4), 5, torch.zeros(4)])


@pytest.mark.parametrize(
    ("op", "strides", "checks"), [("mm", "4,1", 0), ("mm", "1,4", 1), ("add.Tensor", "4,1", 1)]
)
def test_products_are_row_major_without_being_asked(op, strides, checks) -> None:
    result = f'tensor<4x4xf32, #fuse.layout<"4,4", "{strides}", "0", "">>'
    op = op if "." in op else f"{op}.default"
    text = f"""module attributes {{fuse.device = "cpu"}} {{
      func.func @main(%x: {IN}) -> {result} {{
        %y = call @product(%x, %x) : ({IN}, {IN}) -> {result}
        return %y : {result}
      }}
      func.func private @product({IN}, {IN}) -> {result} attributes {{fuse.extern = "aten.{op}",
          fuse.args = [{X}, #fuse.arg<1 : i64>], fuse.kwargs = {{}}}}
    }}"""
    context = make_context()
    with context, ir.Location.unknown():
        plan = make_plan(ir.Module.parse(text))
    assert python_source(plan).count("check(") == checks


@pytest.mark.parametrize(
    ("op", "written", "strides", "checks"),
    [("addmm_", True, "4,1", 0), ("addmm_", True, "1,4", 1), ("view_as", False, "4,1", 1)],
)
def test_a_written_operand_is_not_asked_for_its_layout(op, written, strides, checks) -> None:
    result = IN if strides == "4,1" else f'tensor<4x4xf32, #fuse.layout<"4,4", "{strides}", "0", "">>'
    mutated = "fuse.mutated = array<i64: 0>," if written else ""
    text = f"""module attributes {{fuse.device = "cpu"}} {{
      func.func @main(%s: {IN}, %x: {IN}) -> {result} {{
        %y = call @product(%s, %x) : ({IN}, {IN}) -> {result}
        return %y : {result}
      }}
      func.func private @product({IN}, {IN}) -> {result} attributes {{fuse.extern = "aten.{op}.default",
          {mutated} fuse.aliases = {{"0" = 0 : i64}}, fuse.args = [{X}, #fuse.arg<1 : i64>],
          fuse.kwargs = {{}}}}
    }}"""
    context = make_context()
    with context, ir.Location.unknown():
        plan = make_plan(ir.Module.parse(text))
    assert python_source(plan).count("check(") == checks


def test_aligned_keeps_values_that_are_spread_out() -> None:
    data = torch.arange(12.0).reshape(3, 4)
    for x in (data[0, 1:2].expand(5), data[:, 1:2].expand(3, 7), data[1, 1].expand(2, 2), data[1:2, 1]):
        copy = aligned(x)
        assert torch.equal(copy, x) and copy.stride() == x.stride() and copy.data_ptr() % 16 == 0


def test_aligned_keeps_strides() -> None:
    x = torch.randn(7, 6)[1:, 1:].t()
    copy = aligned(x)
    assert copy.stride() == x.stride() and copy.data_ptr() % 16 == 0
    torch.testing.assert_close(copy, x, rtol=0, atol=0)


X = "#fuse.arg<0 : i64>"
IN = "tensor<4x4xf32>"
EXTERNS = {
    "mm": (f"({IN}, {IN}) -> {IN}", "mm.default", f"[{X}, #fuse.arg<1 : i64>]", ""),
    "sum": (f"({IN}) -> tensor<4xf64>", "sum.dim_IntList", f"[{X}, [1]]", "dtype = f64"),
    "mean": (f"({IN}) -> tensor<4xf32>", "mean.dim", f"[{X}, array<i64: 1>]", ""),
    "topk": (f"({IN}) -> tensor<4x2xi64>", "topk.default", f"[{X}, 2]", ""),
    "both": (f"({IN}) -> (tensor<4x2xf32>, tensor<4x2xi64>)", "topk.default", f"[{X}, 2]", ""),
    "chunks": (f"({IN}) -> (tensor<2x4xf32>, tensor<2x4xf32>)", "split.Tensor", f"[{X}, 2]", ""),
    "clamp": (f"({IN}) -> {IN}", "clamp.default", f"[{X}, unit, 0x7FF0000000000000 : f64]", ""),
}


def test_externs_are_called_with_their_constants() -> None:
    declarations = [
        f'func.func private @{name}{type_} attributes {{fuse.extern = "aten.{op}", fuse.args = {args}, '
        f"fuse.kwargs = {{{kwargs}}}{', fuse.returns = array<i64: 1>' if name == 'topk' else ''}}}"
        for name, (type_, op, args, kwargs) in EXTERNS.items()
    ]
    context = make_context()
    with context, ir.Location.unknown():
        module = ir.Module.parse("\n".join(declarations))
    externs = {
        ir.StringAttr(op.attributes["sym_name"]).value: extern_of("f", op.operation)
        for op in module.body.operations
    }
    assert externs["mean"].arguments == (Arg(0), List((1,))), "a plan holds no Python list"
    calls = {name: bind_extern(extern, {}) for name, extern in externs.items()}
    x = torch.randn(4, 4)
    assert calls["mm"] is torch._C._VariableFunctions.mm
    assert (1,) in calls["sum"].__code__.co_consts, "a list would be made at every call"
    torch.testing.assert_close(calls["sum"](x), x.double().sum(1))
    torch.testing.assert_close(calls["mean"](x), x.mean(1))
    torch.testing.assert_close(calls["topk"](x), x.topk(2).indices)
    torch.testing.assert_close(calls["both"](x), tuple(x.topk(2)))
    torch.testing.assert_close(calls["chunks"](x), x.split(2))
    torch.testing.assert_close(calls["clamp"](x), x)


class Reached(Exception):
    """What a call of an op came to, before the op ran."""


class Stop(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise Reached(func, args, kwargs or {})


def reached(call, *args, **kwargs):
    with torch.no_grad(), Stop(), pytest.raises(Reached) as caught:
        call(*args, **kwargs)
    return caught.value.args


@pytest.mark.parametrize("name", [*sorted(_UNBOXED), "aten.relu.default", "aten.sum.dim_IntList"])
def test_the_shortest_way_to_an_op_is_the_same_op(name):
    x, square = torch.randn(1, 4, 4, 4), torch.randn(4, 4)
    args, kwargs = {
        "convolution": ((x, x, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1), {}),
        "addmm": ((square[0], square, square), {"beta": 2, "alpha": 3}),
        "addmm_": ((square, square, square), {"beta": 2, "alpha": 3}),
        "_addmm_activation": ((square[0], square, square), {"use_gelu": True}),
        "baddbmm": ((x[0], x[0], x[0]), {"beta": 2, "alpha": 3}),
        "bmm": ((x[0], x[0]), {}),
        "mm": ((square, square), {}),
        "relu": ((square,), {}),
        "sum": ((square, [1]), {"dtype": torch.float64}),
        "_scaled_dot_product_efficient_attention": ((x, x, x, None, True, 0.0, True), {"scale": 0.5}),
        "_scaled_dot_product_cudnn_attention": ((x, x, x, None, True, 0.0, True, False), {"scale": 0.5}),
        "_scaled_dot_product_flash_attention": ((x, x, x, 0.0, True, False), {"scale": 0.5}),
    }[name.split(".")[1]]
    op, *given = reached(fastest(name), *args, **kwargs)
    assert op is resolve(name)
    assert str(given) == str(list(reached(resolve(name), *args, **kwargs)[1:]))


def test_a_buffer_is_taken_in_the_layout_that_torch_sees_first(module: ir.Module) -> None:
    lines = python_source(make_plan(module)).splitlines()
    assert [line.strip() for line in lines if "reinterpret(" in line] == [
        "t5 = reinterpret(t3, (s0*4,), (1,), 0)"
    ], "the second destination is returned as a view"
    assert lines[-1].strip() == "return [t5, a2]"


def test_views_of_a_buffer_end_where_it_is_taken_over() -> None:
    square = "tensor<4x4xf32>"
    text = f"""module attributes {{fuse.device = "cpu"}} {{
      func.func @main(%x: {square}) -> ({square}, {square}) {{
        %a = "fuse.alloc"() {{syms = []}} : () -> {square}
        %y = call @double(%x, %a) : ({square}, {square}) -> {square}
        %v = "fuse.view"(%y) {{map = ["v0 floordiv 4", "v0 mod 4"], syms = []}} : ({square}) -> tensor<16xf32>
        %q = call @sin(%y) : ({square}) -> {square}
        %s = call @relu(%v) : (tensor<16xf32>) -> tensor<16xf32>
        %b = "fuse.reuse"(%y) {{operandSegmentSizes = array<i32: 1, 0>, syms = []}} : ({square}) -> {square}
        %w = call @double_flat(%s, %b) : (tensor<16xf32>, {square}) -> {square}
        %c = "fuse.reuse"(%s) {{operandSegmentSizes = array<i32: 1, 0>, syms = []}}
            : (tensor<16xf32>) -> {square}
        %z = call @double(%w, %c) : ({square}, {square}) -> {square}
        "fuse.free"(%w) : ({square}) -> ()
        return %z, %q : {square}, {square}
      }}
      func.func private @sin({square}) -> {square}
          attributes {{fuse.extern = "aten.sin.default", fuse.args = [{X}], fuse.kwargs = {{}}}}
      func.func private @double({square}, {square}) -> {square}
          attributes {{fuse.launch = @double_tt, fuse.grid = ["1"], fuse.params = ["0:ptr", "1:ptr"],
          fuse.ties = array<i64: 1>}}
      func.func private @double_flat(tensor<16xf32>, {square}) -> {square}
          attributes {{fuse.launch = @double_flat_tt, fuse.grid = ["1"], fuse.params = ["0:ptr", "1:ptr"],
          fuse.ties = array<i64: 1>}}
      func.func private @relu(tensor<16xf32>) -> tensor<16xf32>
          attributes {{fuse.extern = "aten.relu.default", fuse.args = [{X}], fuse.kwargs = {{}}}}
    }}"""
    context = make_context()
    with context, ir.Location.unknown():
        plan = make_plan(ir.Module.parse(text))
    externs = bind_externs(plan, {})

    def double(stream: int, gx: int, gy: int, gz: int, source: int, target: int) -> None:
        Recorder()(stream, gx, gy, gz, source, target, 4)

    x = torch.randn(4, 4)
    launchers = {"double": double, "double_flat": double}
    result, sine = LaunchPlan.bind(plan, launchers, externs, lambda d, c: (0, 0))([x])
    torch.testing.assert_close(result, 8 * torch.relu(x), rtol=0, atol=0)
    torch.testing.assert_close(sine, torch.sin(2 * x), rtol=0, atol=0)
    assert "reinterpret(t1, (16,), (1,), 0)" in python_source(plan)
    assert python_source(plan).count("t1_p = ") == 1, "the second buffer is the first one's tensor"
    assert "    del t4\n" in python_source(plan), "the view, and not the buffer"


def test_a_view_is_a_tensor_of_its_own_to_the_caller() -> None:
    square, same = "tensor<4x4xf32>", """{map = ["v0", "v1"], syms = []}"""
    text = f"""module attributes {{fuse.device = "cpu"}} {{
      func.func @main(%x: {square}) -> ({square}, {square}, {square}) {{
        %s = call @relu(%x) : ({square}) -> {square}
        %v = "fuse.view"(%s) {same} : ({square}) -> {square}
        %w = "fuse.view"(%x) {same} : ({square}) -> {square}
        return %s, %v, %w : {square}, {square}, {square}
      }}
      func.func private @relu({square}) -> {square}
          attributes {{fuse.extern = "aten.relu.default", fuse.args = [{X}], fuse.kwargs = {{}}}}
    }}"""
    context = make_context()
    with context, ir.Location.unknown():
        plan = make_plan(ir.Module.parse(text))
    externs = bind_externs(plan, {})
    x = torch.randn(4, 4)
    s, v, w = LaunchPlan.bind(plan, {}, externs, lambda d, c: (0, 0))([x])
    assert s is not v and s.data_ptr() == v.data_ptr()
    assert w is not x and w.data_ptr() == x.data_ptr()


def test_sizes_that_only_a_result_tells_are_not_asked_of_it():
    """``u0`` is read from what ``nonzero`` gives, after the check of its layout."""
    kind = 'tensor<?x1xi64, #fuse.layout<"u0,1", "1,u0", "0", "">>'
    text = f"""module attributes {{fuse.device = "cpu"}} {{
      func.func @main(%x: tensor<6xf32>) -> {kind} {{
        %p = call @nonzero(%x) : (tensor<6xf32>) -> {kind}
        %u0 = "fuse.size"(%p) {{dim = 0 : i64, symbol = "u0"}} : ({kind}) -> index
        return %p : {kind}
      }}
      func.func private @nonzero(tensor<6xf32>) -> {kind}
          attributes {{fuse.extern = "aten.nonzero.default", fuse.args = [{X}], fuse.kwargs = {{}}}}
    }}"""
    with make_context(), ir.Location.unknown():
        plan = make_plan(ir.Module.parse(text))
    externs = bind_externs(plan, {})
    [positions] = LaunchPlan.bind(plan, {}, externs, lambda d, c: (0, 0))(
        [torch.tensor([0.0, 1, 0, 2, 3, 0])]
    )
    assert positions.tolist() == [[1], [3], [4]]


PAIR = tuple(Value(name, TensorType.row_major("f32", (const(2),), "cpu")) for name in ("v1", "v2"))
V1, V2, V3, V4 = (replace(PAIR[0], name=f"v{n}") for n in range(5, 9))
FOR = (
    For(Value("v9", "index"), 0, 3, 1, (V1, V2), ("v1", "v2"), StepBlock((), ("v6", "v5"))),
    Return(("v5", "v6")),
)
WHILE = (
    While(
        (V3, V4, Value("v9", "i1")),
        ("v1", "v2", "v3"),
        StepBlock((), ("v9", "v7", "v8")),
        StepBlock((), ("v8", "v7", "v4")),
        (V1, V2),
    ),
    Return(("v5", "v6")),
)


@pytest.mark.parametrize("loop", [FOR, WHILE], ids=["for", "while"])
def test_a_loop_carries_all_its_values_at_once(loop: tuple[Step, ...]) -> None:
    """A round that exchanges two values takes both from the round before."""
    numbers = (Constant(Value("v3", "i1"), True), Constant(Value("v4", "i1"), False))
    swap = PlanFunction("control_flow_swap", "control", PAIR, (*numbers, *loop))
    called = CallFunction(swap.name, ("v1", "v2"), (V1, V2)), Return(("v5", "v6"))
    plan = Plan("cpu", (), (), (swap, PlanFunction("run", "graph", PAIR, called)))
    validate(plan)
    run = LaunchPlan.bind(plan, {}, {}, lambda *_: (0, 0))
    a, b = torch.zeros(2), torch.ones(2)
    assert [t.tolist() for t in run([a, b])] == [[1.0, 1.0], [0.0, 0.0]]
