"""Whether a kernel that is given as TTIR can take the arguments of its launch.  One that Triton makes of a
Python function has the types of what it is given.
"""

from collections.abc import Mapping
from typing import Any

from ....base.errors import UserKernelRefused
from ....fx.user_kernels import UserLaunch
from ....index import Expr
from ....ir.layout import memory_element
from ....mlir import ir
from ...importer.values import Number, Tensor


def require_types(launch: UserLaunch, function: ir.Operation, given: Mapping[str, Any]) -> None:
    """Raises UserKernelRefused for a wrong number of arguments, and for one of another type."""
    types = [argument.type for argument in function.regions[0].blocks[0].arguments]
    if len(types) != len(launch.given):
        _refuse(launch, f"it takes {len(types)} arguments, and the template gives {len(launch.given)}")
    for number, (name, type_) in enumerate(zip(launch.given, types, strict=True)):
        expected = _expected(given[name])
        if str(type_) not in expected:
            _refuse(
                launch,
                f"its argument {number} is of type {type_}, and '{name}' of type {' or '.join(expected)}",
            )


def _refuse(launch: UserLaunch, reason: str) -> None:
    raise UserKernelRefused(kernel=launch.name, where="its TTIR", reason=reason)


def _expected(value: Any) -> list[str]:
    """The types that an argument may have in TTIR."""
    if isinstance(value, Tensor):
        return [f"!tt.ptr<{memory_element(value.spec.element)}>"]
    if isinstance(value, bool):
        return ["i1"]
    if isinstance(value, (int, Expr)):
        return ["i32", "i64"]
    if isinstance(value, (float, Number)):
        return ["f32", "f64"]
    return [f"a number, unlike {value!r}"]
