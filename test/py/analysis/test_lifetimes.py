"""Bytes that a plan allocates: its peak against the plan without reuse, and against eager PyTorch."""

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from peaks import eager_peak, planned_peak
from random_programs import Input, Program, Step, programs

from fuse_mlir.compiler.analysis.program.lifetimes import Lifetime, LiveBytes, planned_bytes
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.memory.plan_memory import PlanMemory

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(programs(longest=12))
def test_random_programs_need_no_more_than_eager(program: Program):
    args = [i.make() for i in program.inputs]
    try:
        most = eager_peak(program, args)
    except Exception:
        assume(False)
    torch._dynamo.reset()
    assert planned_peak(program, args) <= most


#: Found by searches like the one above.
FOUND = {
    "torch's functional copy keeps the gaps of 4 elements, in 7": Program(
        (Input((5,), torch.float32, "strided"), Input((1,), torch.float32, "plain", 1)),
        (*[Step("abs")] * 3, Step("shift_")),
    ),
    "a part of a part is set to zero": Program(
        (Input((2, 2, 8, 2), torch.int8, "strided"),), (Step("shift_"), Step("view_"))
    ),
    "a mean of two is subtracted from both": Program(
        (Input((2, 17, 33, 1)),), (Step("sub_sum_"), Step("index_pair", n=24))
    ),
}


@pytest.mark.parametrize("program", list(FOUND.values()), ids=list(FOUND))
def test_programs_that_needed_more_than_eager(program: Program):
    args = [i.make() for i in program.inputs]
    assert planned_peak(program, args) <= eager_peak(program, args)


def chain(count: int, returned: str) -> str:
    """A module in which ``%aN`` (256 bytes) are made in turn, each from the one before it."""
    kind = "tensor<64xf32>"
    lines = [f'%e{n} = "fuse.empty"() {{syms = []}} : () -> {kind}' for n in range(count)]
    lines += [
        f"%a{n} = call @copy({f'%a{n - 1}' if n else '%in'}, %e{n}) : ({kind}, {kind}) -> {kind}"
        for n in range(count)
    ]
    body = "\n  ".join([*lines, returned])
    return f"""func.func @main(%in: {kind}, %big: tensor<256xf32>) -> {kind} {{
  {body}
}}
func.func private @copy({kind}, {kind}) -> {kind}
    attributes {{fuse.launch = @copy_tt, fuse.grid = ["1"], fuse.params = [], fuse.ties = array<i64: 1>}}"""


def test_a_chain_alternates_between_two_buffers():
    with make_context() as context, ir.Location.unknown():
        module = ir.Module.parse(chain(6, "return %a5 : tensor<64xf32>"), context)
        PlanMemory().run(module, Remarks())
        assert planned_bytes(module).peak == 2 * 256
        ops = [op.operation.name for op in module.body.operations[0].regions[0].blocks[0].operations]
        assert (ops.count("fuse.alloc"), ops.count("fuse.reuse")) == (2, 4)


def test_positions_and_room():
    live = LiveBytes(4, [Lifetime(0, 1, 10), Lifetime(1, 2, 5), Lifetime(3, 3, 1)])
    assert (live.at, live.peak) == ([10, 15, 5, 1], 15)
    assert live.has_room(2, 4, 10) and not live.has_room(2, 4, 11) and live.has_room(2, 2, 10)
    live.hold(2, 4, 12)
    assert (live.at, live.peak) == ([10, 15, 17, 13], 17)
