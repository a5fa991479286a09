"""The arguments of a call that may be a product, by what they are in the form of its op."""

from collections.abc import Mapping
from typing import TypeAlias

from ...base.product_forms import OPTIONAL, TENSORS, EinsumForm, product_form
from ...ir.dialects import fuse
from ...ir.kernel import extern_arguments, string
from ...ir.storage import operand_number
from ...mlir import ir

#: Attributes by name, as a declaration has them.
Attributes: TypeAlias = "ir.OpAttributeMap | Mapping[str, ir.Attribute]"


class NotAProduct(Exception):
    """Why a call of an op that has a form is no sum of products of two tensors, as a sentence.

    legal: whether torch may take such a call, this version or a later one.
    """

    def __init__(self, message: str, legal: bool = True) -> None:
        super().__init__(message)
        self.legal = legal


def arguments_by_role(attributes: Attributes, form: EinsumForm) -> dict[str, ir.Attribute]:
    """The arguments of a call by their roles, without those that are None or free.  Raises ``NotAProduct``
    where one has a value with which the op does not have the form."""
    op = string(attributes["fuse.extern"])
    positional, named = extern_arguments(attributes)
    names = list(form.roles)
    if len(positional) > len(names):
        raise NotAProduct(f"expected {op} to take at most {len(names)} arguments, got {len(positional)}")
    others = names[len(positional) :]
    for name in named:
        if name not in others:
            expected = ", ".join(others) or "none"
            raise NotAProduct(f"expected further arguments of {op} to be {expected}, got {name}")
    found: dict[str, ir.Attribute] = {}
    for name, attribute in [*zip(names, positional, strict=False), *named.items()]:
        role = form.roles[name]
        if role in _VALUES:
            says, holds = _VALUES[role]
            if not holds(attribute):
                raise NotAProduct(f"expected {name} to be {says}, got {attribute}")
        elif role != "free" and not isinstance(attribute, ir.UnitAttr):
            _check_kind(name, role, attribute)
            found[role] = attribute
    for name, role in form.roles.items():
        if role in TENSORS and role not in found and name not in OPTIONAL:
            raise NotAProduct(f"expected {op} to take a tensor as {name}, got none", legal=False)
    return found


def _check_kind(name: str, role: str, attribute: ir.Attribute) -> None:
    """Torch takes nothing but tensors, numbers and truth values where these are expected."""
    if role in TENSORS:
        if not isinstance(attribute, fuse.Arg):
            raise NotAProduct(f"expected {name} to be a tensor, got {attribute}", legal=False)
        return
    is_switch = role in ("gelu", "fast_accum")
    expected = "true or false" if is_switch else "a number"
    if isinstance(attribute, fuse.Arg):
        raise NotAProduct(f"expected {name} to be {expected} when compiling, got an operand")
    if number_of(attribute) is None or (is_switch and isinstance(attribute, ir.FloatAttr)):
        raise NotAProduct(f"expected {name} to be {expected}, got {attribute}", legal=False)


def operands_by_role(attributes: Attributes) -> dict[str, int]:
    """Of a declaration of an op that is a product, the position of each tensor among the operands."""
    form = product_form(string(attributes["fuse.extern"]))
    try:
        return {} if form is None else operands_of(arguments_by_role(attributes, form))
    except NotAProduct:
        return {}


def operands_of(arguments: Mapping[str, ir.Attribute]) -> dict[str, int]:
    """The positions of the tensors among arguments by role."""
    return {role: operand_number(a) for role, a in arguments.items() if isinstance(a, fuse.Arg)}


def number_of(attribute: ir.Attribute) -> float | None:
    """The value of a number or a truth value, which is whole where the attribute is."""
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    if isinstance(attribute, (ir.IntegerAttr, ir.FloatAttr)):
        value: float = attribute.value
        return value
    return None


def _all(attribute: ir.Attribute, value: int) -> bool:
    return isinstance(attribute, ir.ArrayAttr) and all(number_of(a) == value for a in attribute)


#: Roles of arguments that must have one value: the value, and whether an attribute is that.
_VALUES = {
    "none": ("None", lambda a: isinstance(a, ir.UnitAttr)),
    "false": ("false", lambda a: isinstance(a, ir.BoolAttr) and not a.value),
    "zeros": ("zeros", lambda a: _all(a, 0)),
    "ones": ("ones", lambda a: _all(a, 1)),
    "one": ("1", lambda a: number_of(a) == 1),
}
