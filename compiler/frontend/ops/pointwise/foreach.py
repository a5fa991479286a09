"""``aten._foreach_*``: the op of the same name for each element of the lists.  Each element has a kernel of
its own.

The kernels are independent, so horizontal fusion may run a whole list in one launch.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ....fx.table import lowers
from ...importer.call import Call
from ...importer.values import Tensor
from .elementwise import RULES, Pointwise, lower_arguments

#: Kind of the second operand of a foreach overload -> the overloads of the single op to try.
_SINGLE = {
    "List": ("Tensor", "Tensor_Tensor", "other", "default"),
    "Scalar": ("Tensor_Scalar", "Scalar", "Tensor", "default"),
    "ScalarList": ("Tensor_Scalar", "Scalar", "Tensor", "default"),
    "Tensor": ("Tensor",),  # one 0-d operand for all; for addcmul and addcdiv, a tensor that lists numbers
    "default": ("default",),
    "ScalarAndTensor": ("Scalar",),
}

#: Foreach names under which the single op has no overload for numbers.
_NAMES = {
    "maximum": "clamp_min",
    "minimum": "clamp_max",
}


def _rule(packet: str, overload: str) -> Pointwise | None:
    """The pointwise rule that one element of ``_foreach_<packet>.<overload>`` follows."""
    name = packet.removeprefix("_foreach_")
    names = (_NAMES[name], name) if name in _NAMES else (name,)
    for candidate in names:
        for which in _SINGLE.get(overload, ()):
            rule = RULES.get(f"aten.{candidate}.{which}")
            if rule is not None:
                return rule
    return None


def _overloads() -> Iterable[tuple[str, Pointwise]]:
    """The functional foreach overloads whose elements are pointwise."""
    for qualified in sorted(torch._C._dispatch_get_all_op_names()):
        name, _, overload = qualified.removeprefix("aten::").partition(".")
        if not name.startswith("_foreach_") or name.endswith("_") or overload.endswith("out"):
            continue
        rule = _rule(name, overload or "default")
        if rule is not None:
            yield f"aten.{name}.{overload or 'default'}", rule


def _build(call: Call, rule: Pointwise) -> list[Any]:
    """Element ``i`` of every list; other arguments as they are."""
    fakes = call.value
    results = []
    for i, fake in enumerate(fakes):
        arguments = {n: v[i] if _is_list(v, len(fakes)) else v for n, v in call.arguments.items()}
        results.append(lower_arguments(call, rule, arguments, [fake], name=f"{call.node.name}_{i}"))
    return results


def _lowering(rule: Pointwise) -> Callable[[Call], list[Any]]:
    def build(call: Call) -> list[Any]:
        return _build(call, rule)

    return build


def _is_list(value: Any, length: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == length
        and all(isinstance(v, (Tensor, int, float)) for v in value)
    )


for _overload, _entry in _overloads():
    lowers(_overload)(_lowering(_entry))
