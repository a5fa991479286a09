"""Users' Triton kernels as kernels of the module, on the interpreter."""

import dataclasses
import re
from unittest import mock

import pytest
import torch
from compiling import Compiled, cloned
from user_kernels import (
    CASES,
    add_kernel,
    added,
    clustered_kernel,
    doubled,
    flip_kernel,
    given_tiles,
    meeting_kernel,
    normed,
    refused_kernel,
    restored_kernel,
    shift_kernel,
    softmaxed,
    telling_kernel,
    tiled,
    triton_without_a_gpu,
)

from fuse_mlir.compiler.base.errors import UserKernelGrid, UserKernelRefused
from fuse_mlir.compiler.frontend.ops.user_kernels import launches
from fuse_mlir.compiler.fx.user_kernels import Opaque, constant_text, launch_of

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@pytest.fixture(autouse=True)
def captured():
    with triton_without_a_gpu(), torch.no_grad():
        yield


X = torch.linspace(-1, 1, 64)


def given(function, dtype=torch.float32):
    _, *shapes = CASES[function]
    return [torch.randn(shape, dtype=dtype) for shape in shapes]


def check(function, inputs, dynamic=False, **options):
    """The graphs of ``function``; its results, and what it writes, are those of torch ops in float64."""
    exact = cloned(inputs, torch.float64)
    expected = CASES[function][0](*exact)
    compiled = Compiled(function, options, dynamic=dynamic)
    found = compiled(*inputs)
    precise = inputs[0].dtype == torch.float32
    torch.testing.assert_close(
        found, expected, check_dtype=False, rtol=1e-5 if precise else 2e-2, atol=1e-5 if precise else 2e-2
    )
    torch.testing.assert_close(inputs, exact, check_dtype=False, rtol=1e-6, atol=1e-6)
    return compiled.graphs


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_results(function):
    (graph,) = check(function, given(function))
    assert graph.externs == 0 and "fuse.user" in str(graph.module)


@pytest.mark.parametrize("function", [added, normed, doubled, tiled, given_tiles], ids=lambda f: f.__name__)
def test_sizes_are_symbols(function):
    (graph,) = check(function, given(function), dynamic=True)
    assert graph.externs == 0 and 'fuse.sym = "s' in str(graph.module)


def test_a_compiled_kernel_serves_other_sizes():
    compiled = Compiled(softmaxed, dynamic=True)
    for shape in ((5, 100), (3, 77)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), x.softmax(1).exp())
    assert len(compiled.graphs) == 1


def test_a_size_that_16_divides_says_so():
    x, y = (torch.randn(5, 64) for _ in range(2))
    torch._dynamo.mark_dynamic(x, 0)
    compiled = Compiled(added, {"interpret_level": "planned"}, dynamic=None)
    torch.testing.assert_close(compiled(x, y), x + y)
    (kernel,) = re.findall(r"arg_attrs = (\[.*?\]), function_type", str(compiled.graphs[0].module))
    assert kernel.count("tt.divisibility = 16") == 4, "three addresses and a number of elements"


def test_sizes_that_16_divides_are_guarded():
    """As Triton compiles a kernel again; one for other sizes serves all."""
    compiled = Compiled(softmaxed, {"interpret_level": "planned"}, dynamic=True)
    graphs = []
    for shape in ((5, 96), (3, 77), (6, 64), (7, 50)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), x.softmax(1).exp())
        graphs.append(len(compiled.graphs))
    assert graphs == [1, 2, 2, 2]
    assert [str(g.module).count("fuse.multiple = 16") > 0 for g in compiled.graphs] == [True, False]


def test_bfloat16():
    check(normed, given(normed, torch.bfloat16))


def test_rows_with_gaps():
    check(softmaxed, [torch.randn(5, 160)[:, 7:107]])


def test_every_level_runs():
    (graph,) = check(normed, given(normed), interpret_level="planned", verify="numeric")
    text = str(graph.module)
    assert "fuse.launch = @rms_kernel_mul_tt" in text and "num_stages = 2 : i64, num_warps = 8 : i64" in text


def test_memory_that_a_kernel_fills_is_not_copied():
    (graph,) = check(normed, given(normed))
    (launch,) = graph.launches
    assert launch.name == "rms_kernel_mul"
    rows = 7 * 100 * 4
    assert launch.estimate.read == rows + 400 and launch.estimate.written == rows + 7 * 4


def test_a_kernel_that_prints_is_never_dead():
    """It takes a bool, a negative number and one whose type the kernel says."""

    def told(x):
        y = x * 1
        telling_kernel[(1,)](y, 60, True, 3, -5, block=64)
        return x + 1

    compiled = Compiled(told)
    assert torch.equal(compiled(X), X + 1)
    assert "telling_kernel" in [launch.name for launch in compiled.graphs[0].launches]
    assert re.search("fuse.effect.*fuse.user", str(compiled.graphs[0].module))

    def changed(x):
        y = x * 1
        telling_kernel[(1,)](y, 60, True, 3, -5, block=64)
        return y

    torch.testing.assert_close(Compiled(changed)(X), torch.cat([(X[:60] - 5) * 3, X[60:]]))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int16])
def test_elements_that_triton_spells_otherwise(dtype):
    def flipped(x):
        out = torch.empty_like(x)
        flip_kernel[(1,)](x, out, block=64)
        return out

    x = (X * 100).abs().to(torch.int64).to(dtype) if dtype != torch.bool else X > 0
    compiled = Compiled(flipped)
    assert torch.equal(compiled(x), ~x) and compiled.graphs[0].externs == 0


def test_a_tensor_that_is_read_and_written():
    """The kernel reads what was there before, in other arguments."""

    def doubled_sum(x):
        y = x.sin()
        add_kernel[(1,)](y, y, y, 64, block=64)
        return y

    torch.testing.assert_close(Compiled(doubled_sum)(X), X.sin() * 2)


def test_one_kernel_for_equal_launches():
    def twice(x, y):
        return added(added(x, y), y)

    compiled = Compiled(twice, {"interpret_level": "planned"})
    x, y = torch.randn(2, 300)
    torch.testing.assert_close(compiled(x, y), x + 2 * y)
    assert str(compiled.graphs[0].module).count('"tt.func"') == 1


@pytest.mark.parametrize("cooperative", [False, True])
def test_an_option_that_says_what_holds_anyway_is_no_reason_against_a_kernel(cooperative):
    """Generators of kernels pass all options to all launches."""

    def launched(x):
        y = torch.empty_like(x)
        add_kernel[(1,)](x, x, y, 64, block=64, launch_cooperative_grid=cooperative)
        return y

    compiled = Compiled(launched)
    if cooperative:
        with pytest.raises(AttributeError, match="_Driver"):  # torch asks for a stream
            compiled(X)
        assert "the launch has the option 'launch_cooperative_grid'" in compiled.graphs[0].remarks.render(
            "text"
        )
    else:
        torch.testing.assert_close(compiled(X), X * 2)
        assert compiled.graphs[0].externs == 0


def test_a_nested_region_launches_a_kernel():
    """The rewrite that writes in place does not look into sub-graphs: the kernel writes to a copy."""
    region = torch.compiler.nested_compile_region(lambda x, y: added(x, y) * 2)

    def twice(x, y):
        return region(region(x, y), y)

    compiled, (x, y) = Compiled(twice), given(added)
    torch.testing.assert_close(compiled(x, y), ((x + y) * 2 + y) * 2)
    assert "fuse.user" in str(compiled.graphs[0].module) and compiled.graphs[0].externs == 0


@pytest.mark.parametrize("kind", ["float", "int"])
def test_a_number_that_data_decides(kind):
    def scaled(x):
        out, number = torch.empty_like(x), x.max().item() if kind == "float" else x.argmax().item()
        shift_kernel[(5,)](x, out, number, x.numel(), block=64)
        return out

    with mock.patch.object(torch._dynamo.config, "capture_scalar_outputs", True):
        compiled, x = Compiled(scaled), torch.randn(300)
        number = x.max() if kind == "float" else x.argmax()
        torch.testing.assert_close(compiled(x), x + number)
    assert "fuse.user" in str(compiled.graphs[0].module)


@pytest.mark.parametrize(
    ("kernel", "arguments", "why"),
    [
        (restored_kernel, (X, X, 64), "its autotuner resets what the kernel writes"),
        (clustered_kernel, (X, X, X, 64), "it asks for a cluster of blocks"),
        (meeting_kernel, (X, 64, 64), "its branches meet again"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_opaque_kernel_is_launched_by_torch(kernel, arguments, why):
    def launched(x):
        kernel[(1,)](*(x if a is X else a for a in arguments))
        return x + 1

    compiled = Compiled(launched)
    with pytest.raises(AttributeError, match="_Driver"):  # torch asks for a stream
        compiled(torch.randn(300))
    remarks = compiled.graphs[0].remarks.render("text")
    assert "missed: import: opaque-kernel" in remarks and why in remarks
    assert compiled.graphs[0].externs == 1


def test_a_kernel_that_writes_what_the_graph_takes_to_be_read_is_opaque():
    def nothing_written(node):
        return dataclasses.replace(launch_of(node), written=())

    with mock.patch.object(launches, "launch_of", nothing_written):
        compiled = Compiled(added)
        with pytest.raises(AttributeError, match="_Driver"):
            compiled(*given(added))
    assert "it may write to 'out'" in compiled.graphs[0].remarks.render("text")


def test_a_kernel_that_triton_refuses():
    def refused(x):
        refused_kernel[(1,)](x, x.numel(), block=64)
        return x

    lines, first = refused_kernel.raw_src, refused_kernel.starting_line_number
    line = first + next(n for n, text in enumerate(lines) if "beside=n" in text)
    with pytest.raises(Exception, match="refused_kernel") as raised:
        Compiled(refused)(torch.randn(64))
    error = raised.value.__cause__ or raised.value
    assert UserKernelRefused.__name__ in str(raised.value) + type(error).__name__
    assert f"user_kernels.py:{line}: load() got an unexpected keyword argument 'beside'" in str(raised.value)


def test_a_grid_of_no_integers():
    def launched(x):
        out = torch.empty_like(x)
        add_kernel[(x.numel() / 64,)](x, x, out, x.numel(), block=64)
        return out

    with pytest.raises(Exception, match="add_kernel") as raised:
        Compiled(launched)(torch.randn(100))
    assert UserKernelGrid.__name__ in str(raised.value)
    assert f"user_kernels.py:{add_kernel.starting_line_number} " in str(raised.value)
    assert "with an extent of 1.5625: expected integers" in str(raised.value)


def test_what_a_constant_is_in_the_key_of_a_program():
    """A function is its source, so that a program of another function is not taken from the cache."""
    assert (
        constant_text(((1, None), add_kernel, "a", True)) == f"((1, None), {add_kernel.cache_key}, 'a', True)"
    )
    with pytest.raises(Opaque, match=r"^a constant is a object$"):
        constant_text([object()])
