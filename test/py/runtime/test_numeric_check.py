"""The numeric check: inputs from facts, what counts as equal, and a wrong pass caught by name."""
# ruff: noqa: E501  (modules as text)

import contextlib
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch.overrides import TorchFunctionMode

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.checks.made_inputs import (
    InputMaker,
    SizeSymbol,
    copy_inputs,
    moved_inputs,
    other_sizes,
)
from fuse_mlir.compiler.runtime.checks.numeric_check import NumericVerifier
from fuse_mlir.compiler.runtime.checks.outcomes import NumericMismatch, Outcome, check_equal
from fuse_mlir.compiler.runtime.errors import DeviceAssertError, RunError

T = '#fuse.layout<"s0,4", "4,1", "0", "cpu">'
MODULE = f"""
func.func @main(%x: tensor<?x4xf32, {T}>, %s0: index {{fuse.sym = "s0", fuse.min = 2 : i64, fuse.hint = 6 : i64}}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">> {{
  %o = "fuse.empty"(%s0) {{syms = ["s0"]}} : (index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
  %y = call @rows(%x, %o, %s0) : (tensor<?x4xf32, {T}>, tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, index) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
  return %y : tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
}}
func.func private @rows(%x: tensor<?x4xf32, {T}>, %o: tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, %s0: index {{fuse.sym = "s0"}}) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
    attributes {{fuse.kernel, fuse.dims = {{d0 = "s0", d1 = "4"}}, fuse.ties = array<i64: 1>}} {{
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {{at = ["d0", "d1"]}} : (tensor<?x4xf32, {T}>, i1, f32) -> f32
  %s = "fuse.reduce"(%v) {{kind = "sum", over = ["d1"]}} : (f32) -> f32
  %q = math.sqrt %s : f32
  %r = "fuse.store"(%o, %q, %true) {{at = ["d0"], mode = "set"}} : (tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>, f32, i1) -> tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
  return %r : tensor<?xf32, #fuse.layout<"s0", "1", "0", "cpu">>
}}
"""


@dataclass(frozen=True)
class Replace:
    """A pass that rewrites attribute text; ``numerics`` is what it promises."""

    old: str
    new: str
    numerics: str = "bitwise"
    name: ClassVar[str] = "replace-text"

    def run(self, module: ir.Module) -> ir.Module:
        text = str(module)
        assert self.old in text
        return ir.Module.parse(text.replace(self.old, self.new), module.context)


def verify(change: Replace, text: str = MODULE, inputs=None) -> NumericVerifier:
    module = ir.Module.parse(text, make_context())
    verifier = NumericVerifier(inputs)
    verifier.before_pass(0, change, module)
    verifier.after_pass(0, change, change.run(module))
    return verifier


def test_a_wrong_pass_is_caught_by_name():
    with pytest.raises(NumericMismatch, match="pass replace-text changed result 0") as caught:
        verify(Replace('kind = "sum"', 'kind = "max"'))
    assert (
        caught.value.pass_name == "replace-text"
        and caught.value.max_error > 0
        and len(caught.value.first_index) == 1
    )


@pytest.mark.parametrize("numerics", ["bitwise", "reassociates", "precision"])
def test_a_right_pass_passes_and_the_next_starts_from_it(numerics):
    verifier = verify(Replace('kind = "sum"', 'kind = "sum"', numerics))
    module = ir.Module.parse(MODULE, make_context())
    wrong = Replace("math.sqrt", "math.exp", numerics)
    verifier.before_pass(1, wrong, module)
    with pytest.raises(NumericMismatch):
        verifier.after_pass(1, wrong, wrong.run(module))


def test_rounding_differently_is_allowed_only_where_declared():
    """sqrt(s) against s * rsqrt(s): the same within a few roundings."""
    steps = "%i = math.rsqrt %2 : f32\n    %3 = arith.mulf %2, %i : f32"
    module = str(ir.Module.parse(MODULE, make_context()))
    line = next(row.strip() for row in module.splitlines() if "math.sqrt" in row)
    operand, result = line.split()[3], line.split()[0]
    steps = steps.replace("%2", operand).replace("%3", result)
    inputs = [torch.rand(64, 4) + 0.5, 64]
    verify(Replace(line, steps, "reassociates"), inputs=inputs)
    with pytest.raises(NumericMismatch):
        verify(Replace(line, steps, "bitwise"), inputs=inputs)


def test_an_ill_conditioned_answer_may_move_as_far_as_its_inputs_move_it():
    """One element before was right by luck; moved inputs tell what rounding may do, and no more is
    allowed.
    """
    truth = Outcome({"result 0": torch.ones(4, dtype=torch.float64)})
    before = Outcome({"result 0": torch.ones(4)})
    after = Outcome({"result 0": torch.tensor([1, 1, 1, 1 + 3e-5])})
    with pytest.raises(NumericMismatch, match=r"the first at \[3\]"):
        check_equal(before, after, "reassociates", reference=truth)
    for moved, allowed in ((2e-5, True), (1e-5, False)):
        others = [Outcome({"result 0": truth.values["result 0"] + moved})]
        if allowed:
            check_equal(before, after, "reassociates", reference=truth, moved=others)
            continue
        with pytest.raises(NumericMismatch):
            check_equal(before, after, "reassociates", reference=truth, moved=others)


class OneDevice(TorchFunctionMode):
    """As a GPU has it; a tensor on the device "meta" takes one on a CPU, too."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.mul_:
            assert len({value.device for value in args}) == 1
        return func(*args, **(kwargs or {}))


def test_inputs_are_moved_on_their_device():
    """``bisect`` has those of a call on a GPU."""
    with OneDevice():
        moved, kept = moved_inputs([torch.ones(3, device="meta"), torch.ones(2)], 1, seed=0)
    assert moved.device.type == "meta" and torch.equal(kept, torch.ones(2))


def test_a_wrong_pass_is_caught_on_moved_inputs_too():
    """Float rules, and the module before the pass is run again from its text."""
    with pytest.raises(NumericMismatch, match="pass replace-text changed result 0"):
        verify(Replace('kind = "sum"', 'kind = "max"', "reassociates"))


@pytest.mark.parametrize(
    "new, numerics, runs",
    [
        ("", "reassociates", 1),  # nothing changes: as it ran before
        ("math.absf", "bitwise", 2),
        ("math.absf", "reassociates", 2),  # equal bits ask for no float64 run
        ("math.exp", "reassociates", 7),  # the float64 run, and those of moved inputs
    ],
)
def test_runs_what_may_differ(monkeypatch, new, numerics, runs):
    """sqrt(1) = abs(1)."""
    ran = []
    of = Outcome.of
    monkeypatch.setattr(Outcome, "of", lambda *given, **more: ran.append(given) or of(*given, **more))
    change = Replace("math.sqrt", new, numerics)
    module = ir.Module.parse(MODULE, make_context())
    verifier = NumericVerifier([torch.full((6, 4), 0.25), 6])
    verifier.before_pass(0, change, module)
    with pytest.raises(NumericMismatch) if new == "math.exp" else contextlib.nullcontext():
        verifier.after_pass(0, change, change.run(module) if new else module)
    assert len(ran) == runs


def test_made_inputs_leave_numbers():
    """Square roots of sums of normal numbers are partly NaN, never all; hints give the sizes."""
    x, s0 = InputMaker().make(ir.Module.parse(MODULE, make_context()))
    assert s0 == 6 and x.shape == (6, 4) and x.dtype == torch.float32
    assert torch.equal(x, InputMaker().make(ir.Module.parse(MODULE, make_context()))[0])
    assert (InputMaker(positive=True).make(ir.Module.parse(MODULE, make_context()))[0] > 0).all()
    assert InputMaker(sizes={"s0": 3}).make(ir.Module.parse(MODULE, make_context()))[0].shape == (3, 4)
    special = InputMaker(special=True).make(ir.Module.parse(MODULE, make_context()))[0]
    assert special.isnan().any() and special.isinf().any()


def test_where_no_inputs_leave_numbers_the_first_are_taken():
    module = ir.Module.parse(MODULE.replace("math.sqrt %s", "arith.divf %zero, %zero"), make_context())
    verifier = NumericVerifier()
    verifier.before_pass(0, Replace("", ""), module)
    assert torch.equal(verifier.inputs[0], InputMaker().make(module)[0])


def test_a_made_tensor_lies_where_its_storage_says():
    def made(place):
        text = MODULE.replace(
            f"%x: tensor<?x4xf32, {T}>, %s0", f"%x: tensor<?x4xf32, {T}> {{fuse.storage = {place}}}, %s0", 1
        )
        return InputMaker().make(ir.Module.parse(text, make_context()))[0]

    for elements, there in ((40, 40), (10, 27)):  # the latter has no room for what another size needs
        x = made(f"array<i64: 3, {elements}>")
        assert (x.shape, x.storage_offset(), x.untyped_storage().nbytes()) == ((6, 4), 3, 4 * there)
    for wrong in ("array<i64: 3>", "array<i64: 4, 3>", "array<i64: -1, 3>", "3 : i64"):
        with pytest.raises(RunError, match=r"expected fuse\.storage to be the first element and the number"):
            made(wrong)


ROWS = '{d0 = "s0", d1 = "4"}'


@pytest.mark.parametrize("numerics", ["bitwise", "reassociates", "precision"])
def test_a_hint_in_place_of_a_size_is_caught(numerics):
    """With six rows all is well, and all that a pass can read but the type says that there are six."""
    wrong = Replace(ROWS, ROWS.replace("s0", "6"), numerics)
    with pytest.raises(NumericMismatch, match="pass replace-text changed result 0 with s0 = 7: "):
        verify(wrong)
    given = [torch.rand(6, 4), 6]  # what a user gives is all that is run
    verify(wrong, inputs=given)


def test_a_run_that_fails_with_another_size_says_with_which():
    with pytest.raises(RunError) as caught:
        verify(Replace(ROWS, ROWS.replace("s0", "s0 + s0 - 6")))
    assert "the module ran with s0 = 7 before pass replace-text" in caught.value.__notes__


@pytest.mark.parametrize(
    "size, others",
    [
        (SizeSymbol(6, 2, None, 1), [7, 11, 5]),
        (SizeSymbol(8, 0, 9, 1), [9, 7, 5, 3]),
        (SizeSymbol(8, 8, 8, 1), []),
        (SizeSymbol(16, 0, None, 8), [24, 40, 56, 8]),
        (SizeSymbol(1, 0, None, 1), [2, 3, 4, 5, 6]),
    ],
)
def test_other_sizes_of_one_symbol(size, others):
    assert size.others() == others


def test_other_sizes_that_are_even_as_the_hint_is():
    assert SizeSymbol(16, 0, None, 1).others(2) == [18, 22, 26, 14, 10, 6]
    assert SizeSymbol(5, 4, None, 1).others(2) == SizeSymbol(5, 4, None, 1).others() == [6, 7, 8, 9, 4]


TWO = MODULE.replace(
    "%s0: index {", '%s1: index {{fuse.sym = "s1", fuse.hint = 6 : i64{0}}}, %s0: index {', 1
)


def test_two_sizes_of_one_hint_become_two():
    """Then one, as a guard that no module has may ask for."""
    module = ir.Module.parse(TWO.replace("{0}", "").replace("{{", "{").replace("}}", "}"), make_context())
    tried = list(other_sizes(module))
    assert tried[:3] == [{"s1": 7, "s0": 11}, {"s1": 7, "s0": 7}, {"s1": 5, "s0": 5}]
    assert tried[3:] == [{"s1": 8, "s0": 10}, {"s1": 8, "s0": 8}, {"s1": 2, "s0": 2}]  # even as the hints are


GATHER = """
func.func @main(%w: tensor<5x3xf32>, %n: tensor<7xi64>, %unused: tensor<{0}xui8>) -> tensor<7x3xf32> {{
  %o = "fuse.empty"() {{syms = []}} : () -> tensor<7x3xf32>
  %y = call @pick(%w, %n, %o) : (tensor<5x3xf32>, tensor<7xi64>, tensor<7x3xf32>) -> tensor<7x3xf32>
  return %y : tensor<7x3xf32>
}}
func.func private @pick(%w: tensor<5x3xf32>, %n: tensor<7xi64>, %o: tensor<7x3xf32>) -> tensor<7x3xf32>
    attributes {{fuse.kernel, fuse.dims = {{d0 = "7", d1 = "3"}}, fuse.ties = array<i64: 2>}} {{
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %five = arith.constant {1} : i64
  %i = "fuse.load"(%n, %true, %none) {{at = ["d0"]}} : (tensor<7xi64>, i1, i64) -> i64
  %c = arith.cmpi slt, %i, %five : i64
  "fuse.device_assert"(%c, %true) {{message = "index out of range"}} : (i1, i1) -> ()
  %v = "fuse.load"(%w, %true, %zero, %i) {{at = ["i0", "d1"]}} : (tensor<5x3xf32>, i1, f32, i64) -> f32
  %r = "fuse.store"(%o, %v, %true) {{at = ["d0", "d1"], mode = "set"}} : (tensor<7x3xf32>, f32, i1) -> tensor<7x3xf32>
  return %r : tensor<7x3xf32>
}}
"""


@pytest.mark.parametrize("limit", [5, 1])
def test_made_indices_satisfy_the_asserts(limit):
    """Below the smallest extent first; all zero where even that fails."""
    verifier = verify(Replace("replaced", "replaced"), GATHER.format(9, limit).replace("pick", "replaced"))
    assert (verifier.inputs[1] < limit).all() and verifier.inputs[2].dtype == torch.uint8


def test_inputs_that_no_maker_finds_are_an_error():
    with pytest.raises(DeviceAssertError, match="index out of range"):
        verify(Replace("replaced", "replaced"), GATHER.format(9, 0).replace("pick", "replaced"))


MUTATING = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%y) {fuse.mutates = {"0" = 0 : i64}} : (tensor<4xf32>) -> ()
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.kernel, fuse.dims = {d0 = "4"}, fuse.ties = array<i64: 0>} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %v = "fuse.load"(%x, %true, %zero) {at = ["d0"]} : (tensor<4xf32>, i1, f32) -> f32
  %d = arith.addf %v, %v : f32
  %r = "fuse.store"(%x, %d, %true) {at = ["d0"], mode = "set"} : (tensor<4xf32>, f32, i1) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""


def test_mutations_are_compared_and_inputs_stay():
    x = torch.arange(4.0)
    outcome = Outcome.of(ir.Module.parse(MUTATING, make_context()), [x])
    assert torch.equal(x, torch.arange(4.0)) and torch.equal(outcome.values["argument 0"], 2 * x)
    other = Outcome(dict(outcome.values))
    other.values["argument 0"] = x
    with pytest.raises(
        NumericMismatch, match=r"changed argument 0: 3 of 4 elements, the first at \[1\]: 2 became 1"
    ):
        check_equal(outcome, other, "bitwise", pass_name="p")


def test_mutated_arguments_have_a_float64_reference():
    """A pass that may round differently may do so in what it stores into an argument."""
    scaled = MUTATING.replace(
        "%d = arith.addf %v, %v : f32", "%c = arith.constant 3.0 : f32\n  %d = arith.divf %v, %c : f32"
    )
    change = Replace("arith.divf", "arith.mulf", "reassociates")
    constant = Replace("3.000000e+00", "0.333333343", "reassociates")
    x = torch.tensor([0.3, 0.6, 0.9, 1.3])
    module = ir.Module.parse(scaled, make_context())
    verifier = NumericVerifier([x])
    verifier.before_pass(0, change, module)
    verifier.after_pass(0, change, constant.run(change.run(module)))
    with pytest.raises(NumericMismatch, match=r"changed (result|argument) 0"):
        bitwise = Replace("arith.divf", "arith.mulf")
        verifier = NumericVerifier([x])
        verifier.before_pass(0, bitwise, module)
        verifier.after_pass(0, bitwise, constant.run(bitwise.run(module)))


def outcome(value) -> Outcome:
    return Outcome({"result 0": value})


@pytest.mark.parametrize(
    "before, after, what",
    [
        (torch.zeros(3), torch.zeros(4), "shape"),
        (torch.zeros(3), torch.zeros(3).double(), "dtype"),
        (torch.zeros(3, 2), torch.zeros(2, 3).T, "strides"),
        (torch.zeros(3), -torch.zeros(3), "0 became -0"),
        (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, 2.0]), "nan became 2"),
        (torch.tensor([1]), torch.tensor([2]), "1 became 2"),
        (3, 4, "3 became 4"),
    ],
)
def test_bitwise(before, after, what):
    check_equal(outcome(before), outcome(before), "bitwise")
    with pytest.raises(NumericMismatch, match=what):
        check_equal(outcome(before), outcome(after), "bitwise")


def test_nan_equals_nan_whatever_its_bits():
    odd = torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32)
    check_equal(outcome(torch.tensor([float("nan")])), outcome(odd), "bitwise")


def test_error_bound_of_reassociation():
    truth = torch.linspace(1, 2, 100, dtype=torch.float64)
    before = truth.float()
    reference = outcome(truth)
    check_equal(outcome(before), outcome(before * (1 + 2e-7)), "reassociates", reference=reference)
    with pytest.raises(NumericMismatch):
        check_equal(outcome(before), outcome(before * (1 + 1e-4)), "reassociates", reference=reference)
    half = truth.bfloat16()
    with pytest.raises(NumericMismatch):
        check_equal(outcome(half), outcome(half * 1.1), "precision", reference=reference)
    with pytest.raises(NumericMismatch):
        check_equal(
            outcome(before), outcome(before.clone().fill_(float("inf"))), "precision", reference=reference
        )
    with pytest.raises(ValueError, match="float64 reference"):
        check_equal(outcome(before), outcome(before), "precision")


def test_copies_keep_aliases():
    x = torch.arange(6.0)
    a, b, n = copy_inputs([x[1:], x.view(2, 3).T, 5])
    a[0] = 100
    assert b[1, 0] == 100 and x[1] == 1 and n == 5 and b.stride() == (1, 3)
