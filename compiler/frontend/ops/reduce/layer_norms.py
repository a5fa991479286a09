"""Layer norm, which AOTAutograd leaves one op where nothing is differentiated."""

from typing import Any

from ....fx.table import lowers
from ....index import const
from ...importer.call import Call, computes
from ...importer.values import Tensor
from .reductions import count_of, hollow, is_filled, loaded, moments


@lowers("aten.native_layer_norm.default")
def layer_norm(call: Call) -> Any:
    """``(x - mean) * rstd * weight + bias`` in one kernel; another makes ``mean`` and ``rstd`` of rows."""
    x, weight, bias = call.tensor("input"), call["weight"], call["bias"]
    over = tuple(range(x.rank - len(call["normalized_shape"]), x.rank))
    if count_of(x, over).constant == 0:
        call.refuse("its rows have no elements")
    if any(computes(p.dtype) != computes(x.dtype) for p in (weight, bias) if p is not None):
        call.refuse("its parameters have a wider dtype")
    if not is_filled(call):
        return hollow(call)
    mean, rstd = _statistics(call, x, over)
    inputs = [t for t in (x, mean, rstd, weight, bias) if t is not None]
    kernel = call.kernel(inputs, [call.fresh(call.value[0])])
    at = kernel.iterate(x.sizes)
    row = tuple(const(0) if d in over else c for d, c in enumerate(at))
    y = kernel.mul(kernel.sub(kernel.load(x, at), kernel.load(mean, row)), kernel.load(rstd, row))
    if weight is not None:
        y = kernel.mul(y, kernel.load(weight, at[over[0] :]))
    if bias is not None:
        y = kernel.add(y, kernel.load(bias, at[over[0] :]))
    kernel.store(0, at, y)
    return [call.finish(kernel, [call.value[0]]), _returned(call, mean, 1), _returned(call, rstd, 2)]


def _statistics(call: Call, x: Tensor, over: tuple[int, ...]) -> list[Tensor]:
    """Mean and ``rsqrt(variance + eps)`` of each row, in the dtype that the norm is computed in."""
    fakes = [call.state.empty(fake, fake.shape, computes(x.dtype)) for fake in call.value[1:]]
    name = f"{call.node.name}_statistics"
    operand = loaded(call, x, over, True, [call.fresh(fake) for fake in fakes], name)
    kernel = operand.kernel
    variance, mean = moments(operand, operand.value, 0)
    kernel.store(0, operand.kept, mean)
    kernel.store(1, operand.kept, kernel.math("rsqrt", kernel.add(variance, call["eps"])))
    made = call.finish(kernel, fakes)
    assert isinstance(made, list)
    return made


def _returned(call: Call, value: Tensor, result: int) -> Tensor:
    """A statistic in the dtype in which the op returns it as a result; as it is where nobody reads that."""
    fake = call.value[result]
    read = any(user.args[1] == result for user in call.node.users)
    return call.copied(value, fake) if read and value.dtype != fake.dtype else value


__all__ = ["layer_norm"]
