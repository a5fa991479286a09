"""Copies: to another dtype, device or memory format."""

from typing import Any

from ....fx.table import lowers
from ...importer.call import Call
from .elementwise import Pointwise, lower

#: A rule that reads the tensor in its stored dtype and leaves the conversion to the store.
_COPY = Pointwise((), lambda k, x, *_: x, own=True)


@lowers(
    "aten.clone.default",
    "aten._to_copy.default",
    "prims.convert_element_type.default",
    "aten.lift_fresh_copy.default",
    "aten.contiguous.default",
    "aten.detach_copy.default",
)
def copy(call: Call) -> Any:
    """The output's layout is what ``memory_format`` made it."""
    name = "a" if "a" in call.arguments else "self"
    call.arguments = {name: call.tensor(name)}
    return lower(call, _COPY)


@lowers("aten.view.dtype")
def view_dtype(call: Call) -> Any:
    """The same bits as another dtype of the same width."""
    source, dtype = call.tensor("self"), call["dtype"]
    if source.dtype.itemsize != dtype.itemsize:
        call.refuse("the dtypes differ in width")
    kernel = call.kernel([source])
    at = kernel.iterate(call.result.sizes)
    kernel.store(0, at, kernel.bitcast(kernel.load_raw(source, at), dtype))
    return call.finish(kernel)
