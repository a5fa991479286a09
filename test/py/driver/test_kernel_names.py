"""Names of kernels: two that differ never share one, whoever named them; equal ones are compiled once."""

import pytest
import torch
from compiling import Compiled
from nesting import check
from user_kernels import add_kernel, tl, triton, triton_without_a_gpu

from fuse_mlir.compiler.codegen.launches import kernel_sources

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def test_a_kernel_of_a_sub_graph_is_named_as_another_outside():
    """Both are @exp: one visits a matrix, the other one of its rows; a name may also be that of @main."""

    def function(x, main):
        row = torch.cond(x.sum() > 0, lambda x: x[0].exp(), lambda x: x[1].exp(), (x,))
        return x.exp(), row, main.exp() @ main

    (graph,) = check(function, (torch.randn(3, 4), torch.randn(4, 4)), where="launch plan").graphs
    text = str(graph.module)
    assert text.count("func.func private @exp") > 1
    names = [launch.name for launch in graph.launches if launch.kind == "kernel"]
    assert len(names) == len(set(names)) and any(name.endswith("_graph_0.exp") for name in names)


def other_add():
    """Another kernel that is called as the first is."""

    @triton.jit
    def add_kernel(x, y, out, n, block: tl.constexpr):
        i = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(out + i, tl.load(x + i, i < n) + 2 * tl.load(y + i, i < n), i < n)

    return add_kernel


OTHER = other_add()


def test_users_kernels_of_one_name():
    def function(x, y):
        one, two, three = (torch.empty_like(x) for _ in range(3))
        add_kernel[(5,)](x, y, one, x.numel(), block=64)
        OTHER[(5,)](x, y, two, x.numel(), block=64)
        add_kernel[(5,)](y, x, three, x.numel(), block=64)
        return one, two, three

    compiled = Compiled(function, {"interpret_level": "planned"})
    x, y = torch.randn(2, 300)
    with triton_without_a_gpu(), torch.no_grad():
        found = compiled(x, y)
    for one, other in zip(found, (x + y, x + 2 * y, y + x), strict=True):
        torch.testing.assert_close(one, other)
    sources = kernel_sources(compiled.graphs[0].module)
    assert sorted(sources) == ["add_kernel", "add_kernel_1"]
