"""Arguments that are updated at loaded indices are updated where they lie: no copy of a cache is made."""

import pytest
import torch
from compiling import check
from torch.nn import functional as F

from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.memory.reinplace_updates import ReinplaceUpdates

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

CACHE, TOKEN = (2, 16, 8), (2, 1, 8)


def attend(keys, values, at, k, v, q):
    """A step of decoding with a static cache."""
    keys.index_copy_(1, at, k)
    values[:, at] = v
    return F.scaled_dot_product_attention(q, keys, values)


def twice(keys, values, at, k, v, q):
    keys[:, at] = k
    keys[:, at + 1] = v
    return torch.sort(keys, 1)[0]


def accumulated(keys, values, at, k, v, q):
    keys.index_put_((torch.zeros_like(at), at), k[0], accumulate=True)
    return keys.sum(1)


def old_value_later(keys, values, at, k, v, q):
    old = keys.clone()
    keys[:, at] = k
    return old - keys, torch.sort(old)[0]


def handed_out(keys, values, at, k, v, q):
    """The caller gets the input and a copy of it, which must not be the same memory."""
    keys[:, at] = k
    return keys.clone(), torch.sort(keys)[0]


#: (function, tensors of the cache's size that are made)
CASES = ((attend, 0), (twice, 0), (accumulated, 0), (old_value_later, 2), (handed_out, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("function", "made"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_caches(function, made, dtype):
    caches, tokens = [torch.randn(CACHE, dtype=dtype) for _ in range(2)], torch.randn(3, *TOKEN, dtype=dtype)
    for level, verify in (("scheduled", "on"), ("planned", "numeric")):
        args = (*caches, torch.tensor([5]), *tokens)
        (graph,) = check(function, *args, interpret_level=level, verify=verify).graphs
        if level == "scheduled":
            element = {torch.float32: "f32", torch.bfloat16: "bf16"}[dtype]
            assert (
                str(graph.module).count(f'"fuse.empty"() {{syms = []}} : () -> tensor<2x16x8x{element}')
                == made
            )


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("function", [f for f, _ in CASES], ids=lambda f: f.__name__)
def test_on_the_gpu(function, dtype):
    caches = [torch.randn(CACHE, device="cuda").to(dtype) for _ in range(2)]
    tokens = [torch.randn(TOKEN, device="cuda").to(dtype) for _ in range(3)]
    check(function, *caches, torch.tensor([5], device="cuda"), *tokens, check_memory=True)


def test_a_chain_of_more_updates_than_calls_may_nest():
    """A thousand updates of one tensor, one after the other: as what a loop over frames adds up."""
    tensor = "tensor<64xf32>"
    kernel = 'attributes {fuse.kernel, fuse.dims = {d0 = "64"}, fuse.ties = array<i64: 1>}'
    calls = "\n".join(
        f"    %{n + 1} = call @add(%x, %{n}) : ({tensor}, {tensor}) -> {tensor}" for n in range(1100)
    )
    text = f"""
module attributes {{fuse.device = "cpu"}} {{
  func.func @main(%x: {tensor}) -> {tensor} {{
    %o = "fuse.empty"() {{syms = []}} : () -> {tensor}
    %0 = call @copy(%x, %o) : ({tensor}, {tensor}) -> {tensor}
{calls}
    return %1100 : {tensor}
  }}
  func.func private @copy(%x: {tensor}, %o: {tensor}) -> {tensor} {kernel} {{
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {{at = ["d0"]}} : ({tensor}, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {{at = ["d0"], mode = "set"}} : ({tensor}, f32, i1) -> {tensor}
    return %r : {tensor}
  }}
  func.func private @add(%x: {tensor}, %o: {tensor}) -> {tensor} {kernel} {{
    %true = arith.constant true
    %zero = arith.constant 0.0 : f32
    %v = "fuse.load"(%x, %true, %zero) {{at = ["d0"]}} : ({tensor}, i1, f32) -> f32
    %r = "fuse.store"(%o, %v, %true) {{at = ["d0"], mode = "add"}} : ({tensor}, f32, i1) -> {tensor}
    return %r : {tensor}
  }}
}}
"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        ReinplaceUpdates().run(module, Remarks())
        assert str(module).count("call @add") == 1100
