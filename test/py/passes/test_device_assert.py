"""Assertions of the user and of indices: each in a run that fails, and in one that does not."""

import pytest
import torch
from compiling import Compiled
from nesting import WHERE, check
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from fuse_mlir.compiler.runtime.errors import DeviceAssertError

GOOD = torch.arange(1.0, 8.0)  # seven: the last lanes of every block assert nothing
BAD = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -7.0])


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ('loc("m.py":3:1)', "no at m.py:3"),
        (
            'loc(fused["add"("m.py":3:1), "mul"("n.py":4:0), callsite("f"("m.py":3:9) at "g")])',
            "no at m.py:3, n.py:4",
        ),
        ('loc("addmm"("module net.0 (Linear)":0:0))', "no at module net.0 (Linear)"),
        ('loc("add_3")', "no at add_3"),
        ("loc(unknown)", "no"),
        (None, "no"),
    ],
)
def test_a_location_is_told_as_lines_of_the_program(location, said):
    error = DeviceAssertError("no", location)
    assert str(error) == said and error.location == location


def positive(x):
    torch._assert_async((x > 0).all(), "all are positive")


def fails(compiled, *args, message="all are positive", line=None):
    """The call raises, and says what and where."""
    line = positive.__code__.co_firstlineno + 1 if line is None else line
    with pytest.raises(DeviceAssertError, match=rf"{message}.* at .*{__file__}:{line}") as caught:
        compiled(*args)
    assert "loc(" not in str(caught.value)


@pytest.mark.parametrize("where", WHERE)
def test_an_assertion_is_part_of_the_kernel_beside_it(where):
    def function(x):
        positive(x)
        return x.sum() + x

    compiled = check(function, (GOOD,), where=where)
    fails(compiled, BAD)
    if where not in ("graph", "launch plan"):
        assert len(compiled.graphs[0].launches) == 1, "the assertion is a kernel of its own"


def test_what_only_an_assertion_reads_is_computed():
    def function(x, y):
        z = (y.exp() - 1).log()  # nan where y < 0
        torch._assert_async((z == z).all(), "no nan")
        return x * 2

    compiled = check(function, (GOOD, GOOD))
    fails(compiled, GOOD, BAD, message="no nan", line=function.__code__.co_firstlineno + 2)


@pytest.mark.parametrize("where", WHERE)
def test_without_a_message(where):
    """AOTAutograd takes this overload for one without an effect."""

    def function(x):
        torch._assert_async((x > 0).all())
        return x + 1

    compiled = check(function, (GOOD,), where=where)
    line = function.__code__.co_firstlineno + 1
    fails(compiled, BAD, message="Expected Tensor with single nonzero value, but got zero", line=line)


@pytest.mark.parametrize("dynamic", (False, True))
def test_without_a_message_in_training_and_in_a_branch(dynamic):
    def function(p, x):
        def asserts(x):
            torch._assert_async((x > 0).all())
            return x * 2

        torch.ops.aten._assert_async.default(x.sum() < 100)
        return torch.cond(p, asserts, lambda x: x + 1, (x,)).exp()

    yes, no = torch.tensor(True), torch.tensor(False)
    compiled = check(function, (yes, GOOD), (no, BAD), train=True, dynamic=dynamic)
    first = function.__code__.co_firstlineno
    for line, args in ((first + 2, (yes, BAD)), (first + 5, (no, GOOD * 10))):
        fails(compiled, *args, message="Expected Tensor with single nonzero value", line=line)


@pytest.mark.parametrize("where", ("planned", "launch plan"))
@pytest.mark.parametrize("dynamic", (False, True))
def test_lanes_beyond_the_end_assert_nothing(where, dynamic):
    """What those lanes read instead of `x` is 0, which is not positive, and of `i` a place behind the end."""

    def function(x, i):
        positive(x)
        return x[i] + x[torch.where(i == 0, 7, i)]

    index = torch.tensor([6, 1, -7])
    compiled = check(function, (GOOD, index), dynamic=dynamic, where=where)
    fails(compiled, BAD, index)
    line = function.__code__.co_firstlineno + 2
    fails(compiled, GOOD, torch.tensor([7, 0, 0]), message="out of bounds", line=line)
    fails(compiled, GOOD, torch.tensor([0, 0, -8]), message="out of bounds", line=line)


def test_beside_a_mutation():
    """Neither keeps the other from happening, whatever they are fused with."""

    def function(x, state):
        state.add_(1)
        positive(x)
        return x * 2

    compiled = Compiled(function, {"interpret_level": "planned"})
    state = torch.zeros(7)
    with torch.no_grad():
        assert torch.equal(compiled(GOOD, state), GOOD * 2) and state.tolist() == [1] * 7
        fails(compiled, BAD, state)


@pytest.mark.parametrize("where", ("planned", "launch plan"))
def test_in_a_branch(where):
    """The branch that runs asserts; the other one does not."""

    def function(p, x):
        def asserts(x):
            positive(x)
            return x * 2

        return torch.cond(p, asserts, lambda x: x + 1, (x,))

    yes, no = torch.tensor(True), torch.tensor(False)
    compiled = check(function, (yes, GOOD), (no, BAD), where=where)
    fails(compiled, yes, BAD)


def test_in_a_branch_that_needs_only_another_result():
    def function(p, x):
        def asserts(x):
            positive(x)
            return x * 2, x.sum()

        return torch.cond(p, asserts, lambda x: (x + 1, x.sum()), (x,))[1]

    yes, no = torch.tensor(True), torch.tensor(False)
    compiled = check(function, (yes, GOOD), (no, BAD))
    fails(compiled, yes, BAD)


def test_in_a_loop():
    """The round in which it stops to hold."""

    def function(x):
        def body(i, x):
            positive(x)
            return i + 1, x - 1

        return while_loop(lambda i, x: i < 4, body, (torch.tensor(0), x))

    compiled = check(function, (GOOD + 3,))
    fails(compiled, GOOD + 1.5)


def test_in_a_scan():
    def function(x):
        def step(carry, row):
            positive(row)
            return carry + row, carry * row

        return scan(step, x[0] * 1, x, dim=0)

    compiled = check(function, (GOOD.repeat(3, 1),))
    fails(compiled, torch.stack([GOOD, GOOD, BAD]))


def test_of_a_size_that_depends_on_data():
    """The host knows it: a RuntimeError with the message and the line."""

    def function(x):
        n = (x > 2).sum().item()
        torch._check(n < 6, lambda: "fewer than six")
        return x + n

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = check(function, (GOOD - 1,), whole=False)
        with pytest.raises(RuntimeError, match=rf"u0 <= 5.* \(at {__file__}:\d+\)"):
            compiled(GOOD + 5)


@pytest.mark.parametrize("functional", (False, True))
def test_of_a_number(functional):
    """Both forms of the host's assertion, with the line where the graph has it."""
    from import_one import outputs
    from lowering import externs, lower, trace

    aten = torch.ops.aten

    def function(x):
        holds = x.sum().item() > 0
        if functional:
            return x + 1, aten._functional_assert_scalar.default(holds, "the sum is positive", x)
        aten._assert_scalar.default(holds, "the sum is positive")
        return x + 1

    gm = trace(function, [GOOD], dynamic=True)
    for node in gm.graph.nodes:
        node.meta["stack_trace"] = '  File "/home/user/model.py", line 12, in forward\n    check(x)\n'
    imported = lower(gm, strict=False)
    assert "aten._assert_scalar.default" in externs(imported)
    found = outputs(imported, [GOOD])
    assert torch.equal(found[0] if functional else found, GOOD + 1)
    with pytest.raises(RuntimeError, match=r"the sum is positive \(at /home/user/model.py:12\)"):
        outputs(imported, [BAD - 10])
