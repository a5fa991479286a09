"""A Triton RMS norm as the template of a custom op: what stands in front of the op and behind it is computed
in the template's kernel.

    python examples/norm_template.py

torch runs the op where nothing compiles it.  The template gives the kernel, and how it is launched for these
sizes.  That the norm takes a sum and is followed by a scale and a cast, the template need not know.
"""

import sys

import torch
import triton
import triton.language as tl

import fuse_mlir
from fuse_mlir.templates import TemplateCall, TemplateKernel, register


@torch.library.custom_op("norm_example::rms_norm", mutates_args=())
def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows of ``x`` over their root mean square, times ``weight``; the scale of each row."""
    scale = (x.float().square().mean(1) + eps).rsqrt()
    return (x * scale[:, None]).to(x.dtype) * weight, scale


@rms_norm.register_fake
def _(x: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(x), x.new_empty(x.shape[0], dtype=torch.float32)


@triton.jit
def rms_norm_kernel(x, weight, y, scales, columns, stride, eps, block: tl.constexpr):  # type: ignore[no-untyped-def]
    """One program for each row."""
    row, i = tl.program_id(0).to(tl.int64), tl.arange(0, block)
    v = tl.load(x + row * stride + i, i < columns, other=0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(v * v, 0) / columns + eps)
    tl.store(scales + row, scale)
    w = tl.load(weight + i, i < columns, other=0)
    tl.store(y + row * columns + i, (v * scale).to(x.dtype.element_ty) * w, i < columns)


@register(torch.ops.norm_example.rms_norm.default, outputs=("y", "scales"))
def rms_norm_template(call: TemplateCall) -> TemplateKernel | None:
    """The kernel for rows of up to 8192 elements that lie side by side; torch runs the op on others."""
    x, weight, y = call["x"], call["weight"], call["y"]
    rows, columns = x.shape
    if columns > 8192 or x.strides[1] != 1 or y.strides != (columns, 1):
        return None
    return TemplateKernel(
        kernel=rms_norm_kernel,
        arguments={
            "x": x, "weight": weight, "y": y, "scales": call["scales"],
            "columns": columns, "stride": x.strides[0], "eps": call["eps"],
            "block": triton.next_power_of_2(int(columns)),
        },
        grid=(rows,),
        prologues=["x"],  # each program loads all of the weight
    )  # fmt: skip


def block(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The norm of a sum, in 8 bits."""
    y, _ = torch.ops.norm_example.rms_norm(x + residual, weight, 1e-6)
    return (y * 16).clamp(-448, 448).to(torch.float8_e4m3fn)


def main() -> int:
    """Prints what was fused; 0 if the program is one launch and right."""
    graphs = []
    compiled = torch.compile(block, backend=fuse_mlir.backend, options={"on_compiled": graphs.append})
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = [torch.randn(*shape, device=device) for shape in ((256, 1000), (256, 1000), (1000,))]
    with torch.no_grad():
        found, expected = compiled(*inputs), block(*(x.double() for x in inputs))
    (graph,) = graphs
    print(graph.launches_before, "->", graph.launches_after, "launches")
    print(*(r.message for r in graph.remarks.items if r.pass_name.startswith("fuse-user")), sep="\n")
    close = (found.float() - expected.float()).abs() <= expected.float().abs() / 8 + 0.01
    return 0 if graph.launches_after == 1 and bool(close.all()) else 1


if __name__ == "__main__":
    sys.exit(main())
