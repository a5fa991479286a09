"""Products that add to a value in place: which sums change, that numbers stay, and what is left alone."""

from unittest import mock

import pytest
import torch
from compiling import Compiled, check, with_exact_gradients
from plan_on_cpu import cpu_plan

from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.driver import compilation

#: The tests are about calls of the library.
pytestmark = [pytest.mark.usefixtures("fresh_dynamo"), pytest.mark.products("auto")]


def operands(m=16, k=32, n=64, dtype=torch.bfloat16):
    """x [2, m, k], a gain [k], and matrices [k, k], [k, n], [n, k]."""
    shapes = (2, m, k), (k,), (k, k), (k, n), (n, k)
    return [torch.randn(shape).to(dtype) for shape in shapes]


def norm(h, g):
    return h * torch.rsqrt(h.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(h.dtype) * g


def in_place(compiled):
    """How many products add in place, by the module and by the remarks."""
    [graph] = compiled.graphs
    count = str(graph.module).count("aten.addmm_.default")
    assert count == sum(r.pass_name == "add-products-in-place" for r in graph.remarks.items)
    return count


def residual_stream(x, g, square, up, down):
    h = x * 2
    h = h + torch.relu(norm(h, g)) @ square
    h = torch.tanh(norm(h, g) @ up) @ down + h
    return norm(h, g).transpose(0, 1)


def copied_products(x, g, square, up, down):
    h = x * 2
    return norm(h + (norm(h, g) @ square).clone(), g)


def two_products(x, g, square, up, down):
    return norm(x @ square + (x @ up) @ down, g)


def matrices(x, g, square, up, down):
    h = x[0] + 1
    return h + norm(h, g) @ square


@pytest.mark.parametrize(
    ("function", "count"), [(residual_stream, 2), (copied_products, 1), (two_products, 1), (matrices, 1)]
)
def test_a_product_adds_to_what_nobody_needs_afterwards(function, count):
    args = operands()
    before = [a.clone() for a in args]
    exact, eager = function(*(a.double() for a in args)), function(*args)
    for level in ("graph", "planned"):
        compiled = Compiled(function, {"epilogues": "library", "interpret_level": level})
        got = compiled(*args)
        assert (got.double() - exact).norm() <= 1.05 * (eager.double() - exact).norm()
        assert in_place(compiled) == (0 if level == "graph" else count)
    check(function, *args, epilogues="library", verify="numeric")
    assert all(torch.equal(a, b) for a, b in zip(args, before, strict=True))


def moved(compiled):
    return sum(launch.estimate.read + launch.estimate.written for launch in compiled.graphs[0].launches)


def stream_of_a_product(x, g, square, up, down):
    h = x @ square
    h = h + torch.relu(norm(h, g)) @ square
    return norm(h + torch.tanh(norm(h, g) @ up) @ down, g)


def test_a_residual_stream_moves_fewer_bytes_in_as_many_launches():
    args = operands(m=512, k=256, n=512)
    library, generated = (check(stream_of_a_product, *args, epilogues=e) for e in ("library", "generated"))
    assert len(library.graphs[0].launches) == len(generated.graphs[0].launches)
    matrix = args[0].numel() * args[0].element_size()
    assert moved(generated) - moved(library) == matrix  # the last sum is not kept: as many either way


def read_later(x, g, square, up, down):
    h = x * 2
    s = h + norm(h, g) @ square
    return s, h.sum()


def a_view_is_read_later(x, g, square, up, down):
    h = x * 2
    first, second = h.split(1)
    s = h + norm(h, g) @ square
    return s, first * second


def returned(x, g, square, up, down):
    h = x * 2
    return h + norm(h, g) @ square, h


def a_view_is_returned(x, g, square, up, down):
    h = x * 2
    return h + norm(h, g) @ square, h.transpose(0, 1)


def an_argument(x, g, square, up, down):
    return x + norm(x, g) @ square


def multiplied_itself(x, g, square, up, down):
    h = x @ square
    return h + h @ square


def stored_for_nobody(x, g, square, up, down):
    return torch.relu(x) + norm(x, g) @ square


def product_read_twice(x, g, square, up, down):
    h = x * 2
    p = norm(h, g) @ square
    return h + p, p


def broadcast(x, g, square, up, down):
    h = x[:1] * 2
    return h + (norm(h, g).expand(2, -1, -1) @ square) + norm(h, g)


def scaled(x, g, square, up, down):
    h = x * 2
    return torch.add(h, norm(h, g) @ square, alpha=2)


def strided(x, g, square, up, down):
    h = x.transpose(1, 2).contiguous().transpose(1, 2) * 2
    return h + norm(h, g) @ square


def wider(x, g, square, up, down):
    h = x.float() * 2
    return h + norm(h, g).bfloat16() @ square


def biased(x, g, square, up, down):
    h = x[0] * 2
    return h + torch.addmm(g, norm(h, g), square)


def a_part(x, g, square, up, down):
    """What lies behind the start of its storage is of another type than the sum."""
    return (x.flatten(0, 1) @ square)[16:] + norm(x[1], g) @ square


def added_to_itself(x, g, square, up, down):
    p = x[0] @ square
    return norm(p + p, g)


LEFT_ALONE = [
    a_part, added_to_itself, read_later, a_view_is_read_later, returned, a_view_is_returned, an_argument,
    multiplied_itself, stored_for_nobody, product_read_twice, broadcast, scaled, strided, wider, biased,
]  # fmt: skip


@pytest.mark.parametrize("function", LEFT_ALONE, ids=lambda f: f.__name__)
def test_left_alone(function):
    assert in_place(check(function, *operands(), epilogues="library")) == 0


def moved_behind_another(x, g, square, up, down):
    """The first sum overwrites what the second product reads, which would run after it."""
    h = x[0] * 2
    second = h @ square
    first = h + norm(h, g) @ square
    k = torch.tanh(x[1])
    return first, norm(k, g) @ up, k + second


def test_a_product_does_not_move_behind_what_overwrites_its_factors():
    args = operands()
    compiled = Compiled(moved_behind_another, {"epilogues": "library", "interpret_level": "planned"})
    for got, exact in zip(compiled(*args), moved_behind_another(*(a.double() for a in args)), strict=True):
        torch.testing.assert_close(got.double(), exact, rtol=0.05, atol=0.5)
    assert in_place(compiled) == 1


@pytest.mark.parametrize("given", [{"dtype": torch.float32}, {"k": 36}, {"m": 3}], ids=str)
def test_other_types_and_sizes_are_left_alone(given):
    assert in_place(check(matrices, *operands(**given), epilogues="library")) == 0


def test_unknown_sizes_are_left_alone():
    assert in_place(check(residual_stream, *operands(), epilogues="library", dynamic=True)) == 0


@pytest.mark.parametrize("function", [residual_stream, two_products], ids=lambda f: f.__name__)
def test_a_launch_plan_adds_in_place(function):
    with mock.patch.object(
        compilation, "executable", lambda module, objects, *_, **__: cpu_plan(module, objects)
    ):
        check(function, *operands(), epilogues="library", interpret_level="planned")


def test_gradients_of_what_several_products_read_are_summed_in_place():
    def function(x, g, square, up, down):
        return (x @ square + x @ up @ down) * g

    given = [a.requires_grad_() for a in operands()]
    compiled = with_exact_gradients(function, given, {"epilogues": "library"})
    forward, backward = (str(g.module).count("addmm_.default") for g in compiled.graphs)
    assert (forward, backward) == (0, 1)


@pytest.mark.parametrize(
    ("options", "kind", "on_gpu", "on"),
    [
        ({}, "inference", True, True),
        ({}, "inference", False, False),
        ({"epilogues": "library"}, "inference", False, True),
        ({}, "backward", True, True),
        ({}, "forward", True, False),
        ({"epilogues": "generated"}, "inference", True, False),
    ],
)
def test_where_it_is_on(options, kind, on_gpu, on):
    assert Options(**options).sums_in_place(kind, on_gpu) == on


def test_it_is_off_where_nobody_asks_for_it():
    compiled = check(residual_stream, *operands())
    assert "addmm_" not in str(compiled.graphs[0].module)


E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


def rounded(*through):
    """A product that goes through other dtypes before it is added to another, with a view behind or not."""

    def function(x, g, square, up, down):
        product = x @ (up @ down)
        for dtype in through:
            product = product.to(dtype)
        return norm(x @ square + product.view(x.shape), g)

    return function


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("through", [(E4M3,), (E5M2,), (torch.float32, E5M2), (E5M2, torch.float32)], ids=str)
def test_a_cast_that_rounds_stays(dtype, through):
    function = rounded(*through, dtype)
    assert in_place(check(function, *operands(dtype=dtype), epilogues="library")) == 0


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
def test_products_of_two_element_types(wide, view):
    """A router, or an adapter, in a wider type than the layer beside it."""

    def function(x, g, square, up, down):
        layer = (x @ square).reshape(-1, x.shape[-1]) if view else x @ square
        router = (x.to(wide) @ square.to(wide)).reshape(layer.shape)
        return (router + layer) * g, layer.to(wide) + router

    assert in_place(check(function, *operands(), epilogues="library")) == 0
