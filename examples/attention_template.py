"""Attention as a template: what reads its result is computed in the kernel.

    python examples/attention_template.py

The op has an implementation, which torch runs where nothing compiles it, and a template, which gives the
compiler a Triton kernel.  A gate and a cast behind it, which turn the heads into one row for each token, are
computed where the kernel stores.
"""

import sys

import torch
import triton
import triton.language as tl

import fuse_mlir
from fuse_mlir.templates import TemplateCall, TemplateConfigurations, TemplateKernel, register


@torch.library.custom_op("attention_example::causal", mutates_args=())
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Of each token to those up to it; all tensors are [batch, heads, tokens, width]."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


@attention.register_fake
def _(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return q.new_empty(q.shape)


@triton.jit
def attention_kernel(  # type: ignore[no-untyped-def]
    q, k, v, out, tokens, scale, width: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr
):
    """One program for some rows of one head.  The sums of a row are kept relative to its largest score."""
    first = tl.program_id(0) * rows
    row, d, head = first + tl.arange(0, rows), tl.arange(0, width), tl.program_id(1).to(tl.int64)
    start = head * tokens * width
    at = start + row[:, None] * width + d[None, :]
    exists = row[:, None] < tokens
    query = tl.load(q + at, exists, other=0.0)
    largest = tl.full((rows,), -float("inf"), tl.float32)
    sum_, weighted = tl.zeros((rows,), tl.float32), tl.zeros((rows, width), tl.float32)
    for begin in range(0, tl.minimum(first + rows, tokens), columns):
        column = begin + tl.arange(0, columns)
        there = start + column[:, None] * width + d[None, :]
        key = tl.load(k + there, column[:, None] < tokens, other=0.0)
        score = tl.dot(query, key.T) * scale
        score = tl.where(column[None, :] <= row[:, None], score, -float("inf"))
        now = tl.maximum(largest, tl.max(score, 1))
        weight, shrunk = tl.exp(score - now[:, None]), tl.exp(largest - now)
        value = tl.load(v + there, column[:, None] < tokens, other=0.0)
        weighted = tl.dot(weight.to(value.dtype), value, weighted * shrunk[:, None])
        sum_, largest = sum_ * shrunk + tl.sum(weight, 1), now
    tl.store(out + at, (weighted / sum_[:, None]).to(out.dtype.element_ty), exists)


@register(torch.ops.attention_example.causal.default)
def attention_template(call: TemplateCall) -> TemplateConfigurations | None:
    """The kernel in two tiles, of which the faster one is found by measuring it with what fuses."""
    q, k, v = call["q"], call["k"], call["v"]
    batch, heads, tokens, width = q.shape
    if width not in (16, 32, 64, 128) or any(t.shape != q.shape or not dense(t) for t in (q, k, v)):
        return None

    def kernel(rows: int, columns: int) -> TemplateKernel:
        arguments = {
            "q": q, "k": k, "v": v, "out": call["out"], "tokens": tokens,
            "scale": int(width) ** -0.5, "width": int(width), "rows": rows, "columns": columns,
        }  # fmt: skip
        grid = ((tokens + rows - 1) // rows, batch * heads)
        return TemplateKernel(attention_kernel, arguments, grid, num_warps=4, prologues=[])

    return TemplateConfigurations([kernel(64, 64), kernel(128, 64)], tuned_by=[tokens])


def dense(tensor: object) -> bool:
    """Whether a template's tensor is row-major."""
    expected, strides = 1, []
    for size in reversed(tensor.shape):  # type: ignore[attr-defined]
        strides.append(expected)
        expected = expected * size
    return tensor.strides == tuple(reversed(strides))  # type: ignore[attr-defined, no-any-return]


def gated(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    """Attention times the sigmoid of a gate [batch, tokens, heads * width], in bfloat16."""
    batch, heads, tokens, width = q.shape
    rows = torch.ops.attention_example.causal(q, k, v).transpose(1, 2).reshape(batch, tokens, heads * width)
    return (rows * gate.sigmoid()).bfloat16()


def main() -> int:
    """Prints what was fused; 0 if the program is one launch and right."""
    graphs = []
    compiled = torch.compile(gated, backend=fuse_mlir.backend, options={"on_compiled": graphs.append})
    device = "cuda" if torch.cuda.is_available() else "cpu"
    shape = (2, 2, 100, 32)
    inputs = [torch.randn(shape, device=device) for _ in range(3)] + [torch.randn(2, 100, 64, device=device)]
    with torch.no_grad():
        found, expected = compiled(*inputs), gated(*(x.double() for x in inputs))
    (graph,) = graphs
    print(graph.launches_before, "->", graph.launches_after, "launches")
    print(*(r.message for r in graph.remarks.items if r.pass_name.startswith("fuse-user")), sep="\n")
    close = torch.allclose(found.double(), expected.double(), rtol=2**-7, atol=5e-3)
    return 0 if (graph.launches_after, graph.externs) == (1, 0) and close else 1


if __name__ == "__main__":
    sys.exit(main())
