"""Writes to inputs at the end of a graph: the new value is stored into the argument."""

from ....fx.table import lowers
from ...importer.call import Call
from ...importer.values import Tensor


@lowers("aten.copy_.default")
def copy_into(call: Call) -> Tensor:
    """A kernel whose destination is the argument; its result is the argument's new value."""
    target, source = call.tensor("self"), call.tensor("src")
    if target.value not in call.state.arguments.positions:
        call.refuse("it writes to a tensor that is not an argument of the graph")
    if target is source:
        return target
    kernel = call.kernel([source], [target])
    at = kernel.iterate(target.sizes)
    kernel.store(0, at, kernel.load_raw(source, kernel.broadcast(source, at)))
    result = call.finish(kernel, [target.fake])
    assert isinstance(result, Tensor)
    call.state.mutate(target, result)
    return result


@lowers("aten.copy.default")
def copy(call: Call) -> Tensor:
    """The functional form: the source's values in the target's shape and dtype."""
    return call.copied(call.tensor("src"), call.value)
