"""The TTIR of users' kernels is specialised as Triton would at a launch."""

import re

import pytest
from effectful_kernels import tl, triton
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from fuse_mlir.compiler.frontend.user_kernels.analysed_facts import effects_of
from fuse_mlir.compiler.frontend.user_kernels.argument_kinds import (
    DescriptorKind,
    NumberKind,
    PointerKind,
    described,
)
from fuse_mlir.compiler.frontend.user_kernels.ttir_of import UserKernelError, ttir_of


@triton.jit
def copied(source, target, first: tl.int64, second, third):
    target.store([first.to(tl.int32), second], source.load([0, third]))


@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["y"])
def scaled(x, y, n, m, by=2.0):
    i = tl.program_id(0) * n * m
    tl.store(y + i, tl.load(x + i) * by)


def promises(ttir) -> list[bool]:
    """For each argument whether it is a multiple of 16."""
    (line,) = (line for line in ttir.text.split("\n") if "function_type" in line)
    found = re.search(r"arg_attrs = \[(.*?)\]", line)
    return ["divisibility" in one for one in found[1].split("},")] if found else [False] * len(ttir.arguments)


def test_a_descriptor_of_the_host_is_memory():
    given = {name: DescriptorKind("fp16", (32, 16)) for name in ("source", "target")}
    ttir = ttir_of(copied, {**given, "first": 1, "second": 16, "third": 1})
    source, *sizes, target = effects_of(ttir).arguments[:6]
    assert (source.read, source.written, target.read, target.written) == (True, False, False, True)
    assert sizes == [None] * 4
    assert ttir.arguments[:6] == (
        "source", "source.shape0", "source.shape1", "source.stride0", "source.stride1", "target"
    )  # fmt: skip


def test_one_is_a_constant_unless_the_parameter_has_a_type():
    given = {name: DescriptorKind("fp16", (32, 16)) for name in ("source", "target")}
    ttir = ttir_of(copied, {**given, "first": 1, "second": 16, "third": 1})
    assert ttir.arguments[10:] == ("first", "second") and ttir.constants == {"third": 1}
    assert promises(ttir)[10:] == [False, True]


def test_promises_are_those_of_the_arguments():
    x, y = PointerKind("fp32", aligned=True), PointerKind("fp32", aligned=True)
    ttir = ttir_of(scaled, {"x": x, "y": y, "n": 16, "m": NumberKind("i32", divisible=True), "num_warps": 8})
    assert ttir.arguments == ("x", "y", "n", "m", "by") and ttir.options == {"num_warps": 8}
    assert promises(ttir) == [True, False, False, True, False]


def test_no_promise_is_made_up():
    ttir = ttir_of(scaled, {"x": PointerKind("fp32"), "y": PointerKind("fp32"), "n": 1, "m": 3, "by": 3.0})
    assert ttir.arguments == ("x", "y", "n", "m", "by") and not any(promises(ttir))


def test_of_a_size_that_is_not_known_nothing_is_promised():
    ttir = ttir_of(
        scaled, {"x": PointerKind("fp32"), "y": PointerKind("fp32"), "n": 1, "m": NumberKind("i64")}
    )
    assert ttir.arguments == ("x", "y", "n", "m", "by") and not any(promises(ttir))


def test_what_torch_knows_of_numbers():
    symbols = ShapeEnv()
    assert described(symbols.create_unbacked_symint()) == NumberKind("i64")
    assert described(symbols.create_unbacked_symfloat()) == NumberKind("fp32")
    assert described(symbols.create_unbacked_symbool()) == NumberKind("u1")
    assert described(True) is True


def test_what_triton_says_of_a_kernel_is_in_the_error():
    with pytest.raises(UserKernelError, match=r"kernel 'scaled': line 3 of the kernel: "):
        ttir_of(scaled, {"x": PointerKind("fp32"), "y": NumberKind("i32"), "n": 1, "m": 3})
