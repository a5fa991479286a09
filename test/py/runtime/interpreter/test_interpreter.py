"""Graph functions on the CPU: memory, views, sizes, ordering, mutation, random numbers; what is
refused."""
# ruff: noqa: E501  (modules as text)

import pytest
import torch
from interpreted_modules import ADD, EMPTY, KERNELS, TOKEN, TWICE, V4, X, extern, main

import fuse_mlir
from fuse_mlir.compiler.runtime.errors import RunError, UseAfterFree
from fuse_mlir.compiler.runtime.interpreter.program import InterpretedProgram, run_module
from fuse_mlir.compiler.runtime.rng import RngState

# --- memory -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "element, poison",
    [
        ("f32", float("nan")),
        ("bf16", float("nan")),
        ("i8", 127),
        ("i64", 2**63 - 1),
        ("ui8", 255),
        ("i1", True),
    ],
)
def test_fresh_memory_is_poison(element, poison):
    type_ = f"tensor<2x3x{element}>"
    (y,) = run_module(
        main(f'%o = "fuse.empty"() {{syms = []}} : () -> {type_}\nreturn %o : {type_}', "", type_), []
    )
    assert y.shape == (2, 3) and all(v == poison or v != v for v in y.flatten().tolist())


def test_chain_of_kernels_and_a_program_run_twice():
    program = InterpretedProgram(
        main(f"""
  %o = {EMPTY}
  %y = call @add(%x, %x, %o) : {ADD}
  %p = {EMPTY}
  %z = call @add(%y, %x, %p) : {ADD}
  return %y, %z : {V4}, {V4}""", results=f"{V4}, {V4}")
    )  # fmt: skip
    for x in (X, X * 10):
        y, z = program([x])
        assert torch.equal(y, 2 * x) and torch.equal(z, 3 * x)


def test_empty_with_a_permuted_layout():
    type_ = 'tensor<2x3xf32, #fuse.layout<"2,3", "1,2", "0", "cpu">>'
    (y,) = run_module(
        main(f'%o = "fuse.empty"() {{syms = []}} : () -> {type_}\nreturn %o : {type_}', "", type_), []
    )
    assert y.stride() == (1, 2) and y.isnan().all()


def test_alloc_reuse_free_run():
    module = main(f"""
  %a = "fuse.alloc"() {{syms = []}} : () -> {V4}
  %y = call @add(%x, %x, %a) : {ADD}
  %b = "fuse.alloc"() {{syms = []}} : () -> {V4}
  %z = call @add(%y, %x, %b) : {ADD}
  %c = "fuse.reuse"(%y) {{syms = []}} : ({V4}) -> {V4}
  %w = call @add(%z, %x, %c) : {ADD}
  "fuse.free"(%z) : ({V4}) -> ()
  return %w : {V4}""")
    assert torch.equal(run_module(module, [X])[0], 4 * X)


@pytest.mark.parametrize("use", ["call", "return", "view", "reuse", "free"])
@pytest.mark.parametrize("end", ["free", "reuse"])
def test_use_after_free_names_the_op(use, end):
    ends = {
        "free": f'"fuse.free"(%y) : ({V4}) -> ()',
        "reuse": f'%e = "fuse.reuse"(%y) {{syms = []}} : ({V4}) -> {V4}',
    }
    uses = {
        "call": f"%z = call @add(%y, %x, %b) : {ADD}\nreturn %z : {V4}",
        "return": f"return %y : {V4}",
        "view": f'%v = "fuse.view"(%y) {{map = ["v0"], syms = []}} : ({V4}) -> {V4}\nreturn %v : {V4}',
        "reuse": f'%v = "fuse.reuse"(%y) {{syms = []}} : ({V4}) -> {V4}\nreturn %v : {V4}',
        "free": f'"fuse.free"(%y) : ({V4}) -> ()\nreturn %x : {V4}',
    }
    names = {
        "call": "call of @add",
        "return": "func.return",
        "view": "fuse.view",
        "reuse": "fuse.reuse",
        "free": "fuse.free",
    }
    module = main(f"""
  %a = "fuse.alloc"() {{syms = []}} : () -> {V4}
  %b = "fuse.alloc"() {{syms = []}} : () -> {V4}
  %y = call @add(%x, %x, %a) : {ADD}
  {ends[end]}
  {uses[use]}""")
    with pytest.raises(UseAfterFree, match=f"{names[use]} uses storage that fuse.{end} has given away at "):
        InterpretedProgram(module)


def test_reuse_needs_enough_bytes():
    module = main(
        f"""
  %a = "fuse.alloc"() {{syms = []}} : () -> {V4}
  %b = "fuse.reuse"(%a) {{syms = []}} : ({V4}) -> tensor<5xf32>
  return %b : tensor<5xf32>""",
        results="tensor<5xf32>",
    )
    with pytest.raises(RunError, match="needs 20 bytes and its source has 16"):
        run_module(module, [X])


# --- mutation -----------------------------------------------------------------------------------------------


def test_mutation_in_place():
    module = main(
        f"""
  %o = {EMPTY}
  %y = call @add(%x, %x, %o) : {ADD}
  %t = {TOKEN.format("%x")}
  %n = call @twice(%x, %t) : {TWICE}
  "func.return"(%y, %n) {{fuse.mutates = {{"1" = 0 : i64}}}} : ({V4}, {V4}) -> ()""",
        results=f"{V4}, {V4}",
    )
    x = X.clone()
    y, n = run_module(module, [x])
    assert torch.equal(y, 2 * X) and torch.equal(x, 2 * X) and n.data_ptr() == x.data_ptr()


def test_mutation_by_copy_when_the_value_is_elsewhere():
    module = main(f"""
  %o = {EMPTY}
  %y = call @add(%x, %x, %o) : {ADD}
  "func.return"(%y) {{fuse.mutates = {{"0" = 0 : i64}}}} : ({V4}) -> ()""")
    x = X.clone()
    run_module(module, [x])
    assert torch.equal(x, 2 * X)
    y = X.clone()
    run_module(module, [y], shadow=True)
    assert torch.equal(y, X)


@pytest.mark.parametrize("through_view", [False, True])
def test_reading_an_overwritten_value_is_refused(through_view):
    source = (
        '"fuse.view"(%x) {map = ["v0"], syms = []} : (tensor<4xf32>) -> tensor<4xf32>'
        if through_view
        else None
    )
    module = main(f"""
  %o = {EMPTY}
  {f"%v = {source}" if source else ""}
  %t = {TOKEN.format("%x")}
  %n = call @twice(%x, %t) : {TWICE}
  %y = call @add({"%v" if source else "%x"}, %n, %o) : {ADD}
  return %y : {V4}""")
    with pytest.raises(UseAfterFree, match="call of @add uses a value that call of @twice has overwritten"):
        InterpretedProgram(module)


def test_after_is_no_use():
    module = main(f"""
  %t = {TOKEN.format("%x")}
  %n = call @twice(%x, %t) : {TWICE}
  %late = {TOKEN.format("%x")}
  %m = call @twice(%n, %late) : {TWICE}
  return %m : {V4}""")
    assert torch.equal(run_module(module, [X.clone()])[0], 4 * X)


# --- views and sizes ----------------------------------------------------------------------------------------


def test_views_address_the_root():
    column = 'tensor<3xf32, #fuse.layout<"3", "4", "1", "cpu">>'
    module = main(
        f"""
  %t = "fuse.view"(%x) {{map = ["v1", "v0"], syms = []}} : (tensor<3x4xf32>) -> tensor<4x3xf32, #fuse.layout<"4,3", "1,4", "0", "cpu">>
  %c = "fuse.view"(%t) {{map = ["1", "v0"], syms = []}} : (tensor<4x3xf32, #fuse.layout<"4,3", "1,4", "0", "cpu">>) -> {column}
  return %c : {column}""",
        "%x: tensor<3x4xf32>",
        column,
    )
    x = torch.arange(12.0).reshape(3, 4)
    (y,) = run_module(module, [x])
    assert torch.equal(y, x[:, 1]) and y.data_ptr() == x[:, 1].data_ptr()
    inner = torch.cat([torch.zeros(5), x.flatten()])[5:].reshape(3, 4)
    assert torch.equal(run_module(module, [inner])[0], x[:, 1])


def test_a_view_that_leaves_its_storage_is_refused():
    module = main(
        f"""
  %c = "fuse.view"(%x) {{map = ["v0 + 2"], syms = []}} : ({V4}) -> tensor<4xf32, #fuse.layout<"4", "1", "2", "cpu">>
  return %c : tensor<4xf32, #fuse.layout<"4", "1", "2", "cpu">>""",
        results='tensor<4xf32, #fuse.layout<"4", "1", "2", "cpu">>',
    )
    with pytest.raises(RunError, match="leaves the storage of its source"):
        run_module(module, [X.clone()])


def test_symbols_of_arguments_expressions_and_sizes():
    x_type = 'tensor<?x?xf32, #fuse.layout<"s0,s1", "s1,1", "0", "cpu">>'
    o_type = 'tensor<?xf32, #fuse.layout<"s2", "1", "0", "cpu">>'
    module = main(
        f"""
  %s1 = "fuse.size"(%x) {{dim = 1 : i64, symbol = "s1"}} : ({x_type}) -> index
  %s2 = "fuse.sym"(%s0, %s1) {{symbol = "s2", expr = "a*b + 1", syms = ["a", "b"]}} : (index, index) -> index
  %o = "fuse.empty"(%s2) {{syms = ["s2"]}} : (index) -> {o_type}
  return %o, %s2 : {o_type}, index""",
        f'%x: {x_type}, %s0: index {{fuse.sym = "s0"}}',
        f"{o_type}, index",
    )
    y, n = run_module(module, [torch.zeros(2, 5), 2])
    assert y.shape == (11,) and n == 11


@pytest.mark.parametrize(
    "value, message",
    [
        (torch.zeros(5), r"argument 0 of @main has sizes \[4\], got \[5\]"),
        (torch.zeros(8)[::2], r"argument 0 of @main has strides \[1\], got \[2\]"),
        (torch.zeros(4).double(), "argument 0 of @main holds f32, got torch.float64"),
        (3, "argument 0 of @main is a tensor, got int"),
    ],
)
def test_wrong_arguments_are_refused(value, message):
    with pytest.raises(RunError, match=message):
        run_module(main(f"return %x : {V4}"), [value])


def test_the_number_of_arguments_and_the_entry_are_checked():
    module = main(f"return %x : {V4}")
    with pytest.raises(RunError, match="takes 1 arguments and got 2"):
        run_module(module, [X, X])
    with pytest.raises(RunError, match="no function @other"):
        InterpretedProgram(module, entry="other")


def test_scalar_arithmetic_in_the_graph():
    module = main(
        """
  %c = arith.constant 3 : index
  %d = arith.muli %n, %c : index
  %e = arith.cmpi sgt, %d, %c : index
  return %d, %e : index, i1""",
        "%n: index",
        "index, i1",
    )
    assert run_module(module, [5]) == [15, True]


# --- order, random numbers, shadow --------------------------------------------------------------------------


GROUP = f"""
func.func private @group(%x: {V4}, %t: !fuse.token) -> {V4} attributes {{fuse.control_deps}} {{
  %o = {EMPTY}
  %y = func.call @add(%x, %x, %o) : {ADD}
  return %y : {V4}
}}
func.func private @inplace(%x: {V4}, %t: !fuse.token) -> {V4} attributes {{fuse.control_deps}} {{
  %y = func.call @twice(%x, %t) : {TWICE}
  return %y : {V4}
}}
"""


def test_ordered_groups():
    body = f"%t = {TOKEN.format('%x')}\n%y = call @group(%x, %t) : {TWICE}\nreturn %y : {V4}"
    assert torch.equal(run_module(main(body, more=KERNELS + GROUP), [X])[0], 2 * X)


def test_a_group_that_overwrites_its_argument_counts_as_a_write():
    body = f"%t = {TOKEN.format('%x')}\n%y = call @inplace(%x, %t) : {TWICE}\nreturn %x : {V4}"
    with pytest.raises(
        UseAfterFree, match=r"func\.return uses a value that call of @inplace has overwritten"
    ):
        InterpretedProgram(main(body, more=KERNELS + GROUP))


RANDOM = """
  %a, %b = "fuse.rng"() {device = "cpu", count = 10 : i64} : () -> (i64, i64)
  %c, %d = "fuse.rng"() {device = "cpu", count = 1 : i64} : () -> (i64, i64)
  return %a, %b, %c, %d : i64, i64, i64, i64"""


def test_rng_of_its_own_or_of_torch():
    program = InterpretedProgram(main(RANDOM, "", "i64, i64, i64, i64"))
    state = RngState(7)
    assert program([], rng=state) == [7, 0, 7, 12] and program([], rng=state) == [7, 16, 7, 28]
    assert RngState(-1).draw("cpu", 1)[0] == -1 and RngState((1 << 64) - 1).draw("cpu", 1)[0] == -1
    torch.manual_seed(3)
    first = program([])
    torch.manual_seed(3)
    assert program([]) == first and program([]) != first and first[0] != first[2]


def test_shadow_is_float64_and_keeps_aliases():
    module = main(
        f"""
  %o = {EMPTY}
  %y = call @add(%x, %z, %o) : {ADD}
  %t = {TOKEN.format("%x")}
  %n = call @twice(%x, %t) : {TWICE}
  return %y, %n, %z : {V4}, {V4}, {V4}""",
        f"%x: {V4}, %z: {V4}",
        f"{V4}, {V4}, {V4}",
    )
    x = torch.full((4,), 1 / 3)
    y, n, z = run_module(module, [x, x], shadow=True)
    assert y.dtype == torch.float64 and torch.equal(z, n) and torch.equal(x, torch.full((4,), 1 / 3))
    assert torch.equal(y, 2 * x.double())


def test_shadow_of_an_extern_op_without_float64():
    """Where the operator has no float64 form, it runs on the declared types."""
    from torch.library import Library

    library = Library("interpreter_test", "FRAGMENT")
    library.define("narrow(Tensor x) -> Tensor")

    def narrow(x):
        if x.dtype != torch.bfloat16:
            raise RuntimeError("bf16 only")
        return x + 1

    library.impl("narrow", narrow, "CPU")
    module = extern(
        "%y = call @n(%x) : (tensor<4xbf16>) -> tensor<4xbf16>\nreturn %y : tensor<4xbf16>",
        'func.func private @n(tensor<4xbf16>) -> tensor<4xbf16> attributes {fuse.extern = "interpreter_test.narrow.default", fuse.args = [#fuse.arg<0 : i64>]}',
        "%x: tensor<4xbf16>",
        "tensor<4xbf16>",
    )
    (y,) = run_module(module, [X.bfloat16()], shadow=True)
    assert y.dtype == torch.float64 and y.tolist() == [2.0, 3.0, 4.0, 5.0]


def test_values_are_dropped_after_their_last_use():
    """A chain of 50 additions of 1 MB keeps a few of them alive, not all."""
    n = 1 << 18
    type_ = f"tensor<{n}xf32>"
    lines = []
    for i in range(50):
        lines += [f'%o{i} = "fuse.empty"() {{syms = []}} : () -> {type_}',
                  f"%y{i + 1} = call @add(%y{i}, %y{i}, %o{i}) : ({type_}, {type_}, {type_}) -> {type_}"]  # fmt: skip
    module = main(
        "\n".join(lines) + f"\nreturn %y50 : {type_}",
        f"%y0: {type_}",
        type_,
        KERNELS.replace("tensor<4x", f"tensor<{n}x").replace('d0 = "4"', f'd0 = "{n}"'),
    )
    alive = []
    program = InterpretedProgram(module)
    for plan in program._main._plan:
        step = plan.step

        def counted(frame, operands, step=step):
            alive.append(sum(isinstance(v, torch.Tensor) for v in frame.values))
            return step(frame, operands)

        plan.step = counted
    program([torch.ones(n)])
    assert max(alive) <= 3


def test_an_op_outside_the_graph_level_is_refused():
    body = f'%t = {TOKEN.format("%x")}\n%c = arith.constant 1.0 : f32\n%u = "tt.splat"(%c) : (f32) -> tensor<4xf32>\nreturn %u : {V4}'
    with pytest.raises(RunError, match=r"op that the interpreter does not know: tt\.splat"):
        InterpretedProgram(main(body))


def test_a_kernel_must_return_its_tied_arguments():
    wrong = KERNELS.replace("fuse.ties = array<i64: 2>", "fuse.ties = array<i64: 1>")
    body = f"%o = {EMPTY}\n%y = call @add(%x, %x, %o) : {ADD}\nreturn %y : {V4}"
    with pytest.raises(RunError, match="result 0 of kernel add is not stored in its tied argument 1"):
        InterpretedProgram(main(body, more=wrong))


@pytest.mark.parametrize("sizes", [(4, 9, 6), (6, 10, 4), (2, 15, 6)])
def test_a_remainder_of_a_remainder(sizes):
    """Repeated sums of columns, read in rows of another length: ``(d0 mod 9) mod 6`` is no ``d0 mod 6``."""
    rows, columns, others = sizes

    def program(x, y):
        sums = (x * y.flatten()[0]).reshape(rows, columns).sum(0)
        return sums.repeat(rows).reshape(-1, others) + y

    x = torch.arange(float(rows * columns))
    y = torch.arange(float(rows * columns)).reshape(-1, others) + 1
    torch._dynamo.reset()
    compiled = torch.compile(program, backend=fuse_mlir.backend)
    assert torch.equal(compiled(x, y), program(x, y))
