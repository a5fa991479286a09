"""Assertions: those about values run on the device; those about shapes and dtypes are checked at import."""

from typing import Any

import torch

from ....base.launch import line_text
from ....fx.frames import user_line
from ....fx.table import lowers
from ....mlir import ir
from ...importer.call import Call
from ...importer.extern import Encoder
from ...importer.values import Tensor


def asserted(call: Call) -> None:
    """A kernel of one ``fuse.device_assert``: the only element of ``self`` is not zero, or, if that says so
    of all elements of a tensor, each of these.  A reduction in front would keep what is computed of the
    tensor next from kernels that divide its elements among programs.
    """
    condition = _of_each(call) or call.tensor("self")
    if condition is call.tensor("self") and any(size.constant != 1 for size in condition.sizes):
        call.refuse("it asserts a tensor that may not have exactly one element")
    kernel = call.kernel([condition], [])
    x = kernel.load(condition, kernel.iterate(condition.sizes))
    kernel.assert_(kernel.truth(x), call["assert_msg"])
    call.finish(kernel, [])


def _of_each(call: Call) -> Tensor | None:
    """What the node in front of the assertion reduces to the condition by ``all``.  Nothing is written to it
    in between.
    """
    every = call.node.args[0]
    if every is not call.node.prev or every.target is not torch.ops.aten.all.default:
        return None
    of = call.resolve(every.args[0])
    return of if isinstance(of, Tensor) else None


@lowers("aten._assert_async.msg")
def assert_async(call: Call) -> None:
    asserted(call)


@lowers("aten._functional_assert_async.msg", view=True)
def functional_assert_async(call: Call) -> Tensor:
    """The result is a token without contents.  ``view=True``, because the op must run even if the token has
    no elements.
    """
    asserted(call)
    return token(call)


@lowers("aten._assert_scalar.default")
def assert_scalar(call: Call) -> None:
    """A scalar is asserted by the host: an extern call.  Its message names the user's line, as a device
    assert's does.
    """
    if call["self"] is True:
        return
    line = user_line(call.node)
    place = "" if line is None else f" (at {line_text(line)})"
    builder, encoder = call.builder, Encoder(call.state, call.location)
    with builder.context:
        attributes = {
            "fuse.extern": builder.string("aten._assert_scalar.default"),
            "fuse.args": ir.ArrayAttr.get(
                [encoder.encode(v) for v in (call["self"], call["assert_msg"] + place)]
            ),
            "fuse.returns": builder.int64s([]),
            "fuse.effect": builder.unit,
        }
    types = [v.type for v in encoder.operands]
    callee = builder.declare(call.node.name, types, [], attributes, call.location)
    builder.call(callee, encoder.operands, [], call.location)


@lowers("aten._functional_assert_scalar.default", view=True)
def functional_assert_scalar(call: Call) -> Tensor:
    """Like the functional assertion of a tensor."""
    assert_scalar(call)
    return token(call)


@lowers("aten._make_dep_token.default")
def token(call: Call) -> Tensor:
    """Storage that nobody reads."""
    spec = call.result
    return call.made(call.builder.empty(spec, call.location), call.value, spec)


@lowers("aten._assert_tensor_metadata.default")
def assert_metadata(call: Call) -> None:
    """Nothing, if the import can check that it holds; otherwise eager's op runs and reports the mismatch."""
    fake = call.tensor("a").fake
    facts = (("dtype", fake.dtype), ("device", fake.device), ("layout", fake.layout))
    holds = all(call[name] is None or _same(call[name], fact) for name, fact in facts)
    for name, found in (("size", fake.shape), ("stride", fake.stride())):
        if call[name] is not None:
            holds &= [call.expr(n) for n in call[name]] == [call.expr(n) for n in found]
    if not holds:
        call.refuse("the import cannot prove that the assertion holds")


def _same(expected: Any, found: Any) -> bool:
    """Whether two values are equal.  An expected device without an index equals any device of its type."""
    if isinstance(expected, torch.device) and expected.index is None:
        return expected.type == found.type
    return bool(expected == found)


@lowers("aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default")
def constrain(call: Call) -> None:
    """Nothing: the symbol of the size already has these bounds."""


@lowers(
    "aten._functional_sym_constrain_range.default",
    "aten._functional_sym_constrain_range_for_size.default",
    view=True,
)
def constrain_functionally(call: Call) -> Tensor:
    return call.tensor("dep_token")
