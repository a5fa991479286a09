"""Atomics of users' kernels under `deterministic`: refused where their order decides the result."""

import re
from pathlib import Path

import pytest
import torch
from compiling import Compiled
from user_kernel_launches import Launch as KernelLaunch
from user_kernel_launches import numbers, parsed, zeros
from user_kernels import tl, triton, triton_without_a_gpu

from fuse_mlir.compiler.analysis.user_kernel.unordered import unordered_atomic

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@triton.jit
def helper(x, v):
    tl.atomic_add(x, v)


@triton.jit
def kernel(x, out, WHAT: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    if WHAT == "add":
        tl.atomic_add(out + i, v)
    if WHAT == "masked add":
        tl.atomic_add(out + i, v, i < 3)
    if WHAT == "add of a helper":
        helper(out + i, v)
    if WHAT == "add in a loop":
        for n in range(4):
            tl.atomic_add(out + i + n, v)
    if WHAT == "xchg":
        tl.atomic_xchg(out + i, v)
    if WHAT == "cas":
        tl.atomic_cas(out, 0, 1)
    if WHAT == "max":
        tl.atomic_max(out + i, v)
    if WHAT == "min":
        tl.atomic_min(out + i, v)
    if WHAT == "or":
        tl.atomic_or(out + i, v)
    if WHAT == "and":
        tl.atomic_and(out + i, v)
    if WHAT == "xor":
        tl.atomic_xor(out + i, v)
    if WHAT == "old value":
        tl.store(out + 8 + i, tl.atomic_add(out, 1))
    if WHAT == "old maximum":
        tl.store(out + 8 + i, tl.atomic_max(out + i, v))
    if WHAT == "store":
        tl.store(out + i, v)
    if WHAT == "asm":
        tl.inline_asm_elementwise(
            "atom.global.add.f32 $0, [$1], 1.0;", "=r,l", [out + i], dtype=tl.int32, is_pure=False, pack=1
        )


@triton.jit
def by_descriptor(x, out, WHAT: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    d = tl.make_tensor_descriptor(out, shape=[B], strides=[1], block_shape=[B])
    if WHAT == "add":
        d.atomic_add([0], v)
    if WHAT == "max":
        d.atomic_max([0], v)


F, H, I = torch.float32, torch.float16, torch.int32
CASES = [
    (kernel, "add", F, "adds floats"), (kernel, "add", H, "adds floats"), (kernel, "add", I, None),
    (kernel, "masked add", F, "adds floats"), (kernel, "add of a helper", F, "adds floats"),
    (kernel, "add in a loop", F, "adds floats"), (kernel, "add in a loop", I, None),
    (kernel, "xchg", F, "swaps values"), (kernel, "xchg", I, "swaps values"),
    (kernel, "cas", I, "compares and swaps"),
    (kernel, "max", F, None), (kernel, "max", I, None), (kernel, "min", F, None), (kernel, "or", I, None),
    (kernel, "and", I, None), (kernel, "xor", I, None),
    (kernel, "old value", I, "uses what an atomic has read"),
    (kernel, "old maximum", F, "uses what an atomic has read"),
    (kernel, "store", F, None), (kernel, "asm", F, "in inline assembly"),
    (by_descriptor, "add", F, "adds floats"), (by_descriptor, "add", I, None),
    (by_descriptor, "max", H, None),
]  # fmt: skip


@pytest.mark.parametrize("function, what, dtype, said", CASES)
def test_which_atomics_have_an_order(function, what, dtype, said):
    def given():
        return {"x": numbers(8, 5, dtype)(), "out": zeros(16, dtype=dtype)(), "WHAT": what, "B": 8}

    with triton_without_a_gpu():  # Triton asks which one there is for an atomic of a descriptor
        _, module = parsed(KernelLaunch(function, given, (4, 1, 1), ""))
    found = unordered_atomic(next(op.operation for op in module.body.operations))
    assert (found is None) == (said is None)
    assert found is None or said in found[0]


def launched(x):
    out = torch.zeros_like(x)
    kernel[(4,)](x, out, "add", 8)
    return out + 1


def launched_by_torch(x):
    out = torch.zeros_like(x)
    kernel[(4,)](x, out, "add of a helper", 8, maxnreg=64)
    return out


@pytest.mark.parametrize(
    "function, line", [(launched, "tl.atomic_add(out + i, v)"), (launched_by_torch, "tl.atomic_add(x, v)")]
)
def test_the_kernel_and_the_line_are_named(function, line):
    """Also where torch launches the kernel, as for one with a limit of registers.  Torch does not run the
    graph instead, as it does where the compiler fails (``verify="levels"`` recovers).
    """
    text, file = Path(__file__).read_text().splitlines(), re.escape(__file__)
    number = next(n for n, t in enumerate(text, 1) if line in t)
    expected = rf"the kernel 'kernel' at {file}:\d+ adds floats atomically, at {file}:{number},"
    with triton_without_a_gpu(), torch.no_grad():
        with pytest.raises(Exception, match=expected):
            Compiled(function, {"deterministic": True, "verify": "levels"})(torch.arange(8.0))
        if function is launched:  # sums of integers, and floats where nobody asks for equal bits
            for x, deterministic in ((torch.arange(8), True), (torch.arange(8.0), False)):
                found = Compiled(function, {"deterministic": deterministic})(x)
                torch.testing.assert_close(found, x * 4 + 1)
