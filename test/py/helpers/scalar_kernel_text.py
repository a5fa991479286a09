"""Small modules with one scalar kernel, for tests: its body, its dims, and the tensors that it takes."""
# ruff: noqa: E501  (modules as text)

from collections.abc import Sequence
from typing import Any

import torch
from shared_context import shared_context

from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.program import run_module

ELEMENTS = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2", torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.bool: "i1",
    torch.uint8: "ui8", torch.uint16: "ui16", torch.uint32: "ui32", torch.uint64: "ui64",
}  # fmt: skip


#: float32[4, 6] of different numbers.
ROWS = torch.arange(24.0).reshape(4, 6)


def close(actual: torch.Tensor, expected, rtol=3e-6) -> None:
    """Within a few roundings of float32."""
    torch.testing.assert_close(
        actual.double(), torch.as_tensor(expected).double(), rtol=rtol, atol=3e-7, equal_nan=True
    )


def tensor_type(tensor: torch.Tensor) -> str:
    """The MLIR type of a tensor, with a layout where it is not contiguous at offset 0."""
    shape = "".join(f"{n}x" for n in tensor.shape)
    element = ELEMENTS[tensor.dtype]
    if tensor.is_contiguous() and tensor.storage_offset() == 0:
        return f"tensor<{shape}{element}>"
    sizes, strides = (",".join(map(str, v)) for v in (tensor.shape, tensor.stride()))
    return (
        f'tensor<{shape}{element}, #fuse.layout<"{sizes}", "{strides}", "{tensor.storage_offset()}", "cpu">>'
    )


def value_type(tensor: torch.Tensor) -> str:
    """The type of an element once loaded."""
    return ELEMENTS[tensor.dtype].removeprefix("u")


def module_text(
    inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], dims: dict[str, Any], body: str
) -> str:
    """``@main`` calls a kernel on ``inputs`` (``%x0``..) and fresh tensors like ``outputs`` (``%o0``..); the
    body defines ``%r0``..

    In the body ``X0`` and ``O0`` stand for the types of the tensors; ``%true`` and zeros ``%z_f32`` are
    there.
    """
    names = [*(f"%x{i}" for i in range(len(inputs))), *(f"%o{i}" for i in range(len(outputs)))]
    types = [tensor_type(t) for t in (*inputs, *outputs)]
    results = types[len(inputs) :]
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    main_arguments = ", ".join(f"{n}: {t}" for n, t in list(zip(names, types, strict=True))[: len(inputs)])
    empties = "\n".join(
        f'  {n} = "fuse.empty"() {{syms = []}} : () -> {t}'
        for n, t in zip(names[len(inputs) :], results, strict=True)
    )
    ties = ", ".join(str(len(inputs) + i) for i in range(len(outputs)))
    returned = ", ".join(f"%r{i}" for i in range(len(outputs)))
    called = ", ".join(f"%y#{i}" for i in range(len(outputs)))
    extents = ", ".join(f'{n} = "{e}"' for n, e in dims.items())
    zeros = "\n".join(
        f"  %z_{e} = arith.constant {zero(e)}" for e in ("f64", "f32", "f16", "bf16", "i64", "i32")
    )
    for i, type_ in reversed(list(enumerate(types[: len(inputs)]))):
        body = body.replace(f"X{i}", type_)
    for i, type_ in reversed(list(enumerate(results))):
        body = body.replace(f"O{i}", type_)
    return f"""
func.func @main({main_arguments}) -> ({", ".join(results)}) {{
{empties}
  %y:{len(outputs)} = call @k({", ".join(names)}) : ({", ".join(types)}) -> ({", ".join(results)})
  return {called} : {", ".join(results)}
}}
func.func private @k({arguments}) -> ({", ".join(results)})
    attributes {{fuse.kernel, fuse.dims = {{{extents}}}, fuse.ties = array<i64: {ties}>}} {{
  %true = arith.constant true
  %false = arith.constant false
{zeros}
{body}
  return {returned} : {", ".join(results)}
}}
"""


def zero(type_: str) -> str:
    """A typed zero as an MLIR literal."""
    return "false" if type_ == "i1" else f"{'0' if type_[0] == 'i' else '0.0'} : {type_}"


def run_kernel(
    inputs: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    dims: dict[str, Any],
    body: str,
    **options: Any,
) -> list[Any]:
    """Runs ``module_text`` on ``inputs``."""
    return run_module(
        ir.Module.parse(module_text(inputs, outputs, dims, body), shared_context()), list(inputs), **options
    )


def pointwise(
    inputs: Sequence[torch.Tensor], output: torch.Tensor, steps: str, **options: Any
) -> torch.Tensor:
    """One value per element of 1-d tensors: ``steps`` makes ``%v`` from ``%a0``, ``%a1``, .."""
    loads = "\n".join(
        f"  %n{i} = arith.constant {zero(value_type(t))}\n"
        f'  %a{i} = "fuse.load"(%x{i}, %true, %n{i}) {{at = ["d0"]}} : (X{i}, i1, {value_type(t)}) -> {value_type(t)}'
        for i, t in enumerate(inputs)
    )
    store = f'  %r0 = "fuse.store"(%o0, %v, %true) {{at = ["d0"], mode = "set"}} : (O0, {value_type(output)}, i1) -> O0'
    (result,) = run_kernel(
        inputs, [output], {"d0": inputs[0].numel()}, f"{loads}\n{steps}\n{store}", **options
    )
    return result
