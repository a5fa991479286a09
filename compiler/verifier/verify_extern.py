"""Rules of extern declarations: how ``fuse.args`` and ``fuse.kwargs`` rebuild a call."""

from collections.abc import Sequence

from ..base.product_forms import TENSORS, product_form
from ..ir.dialects.fuse import Arg, Torch, Tuple
from ..ir.kernel import extern_arguments
from ..mlir import ir
from .rules import (
    Broken,
    Report,
    array_of,
    function_type,
    integer_of,
    integers_of,
    is_token,
    items_of,
    text_of,
)

#: Kinds of ``#fuse.torch<"kind:name">``.
TORCH_KINDS = ("device", "layout", "memory_format", "dtype", "op", "object")
#: Attributes that stand for themselves.  BoolAttr, IntegerAttr: a bool is an integer attribute of type i1.
_LITERALS = (ir.IntegerAttr, ir.BoolAttr, ir.FloatAttr, ir.StringAttr, ir.UnitAttr, ir.TypeAttr)


def verify_extern(func: ir.Operation, report: Report) -> None:
    """All rules of one ``fuse.extern`` declaration."""
    report.check(func, _declaration, func)
    report.check(func, _call, func.attributes, function_type(func))
    report.check(func, _ranks, func)
    report.check(func, _storage, func, report)
    report.check(func, _symbols, func)
    for type_ in (*function_type(func).inputs, *function_type(func).results):
        report.check(func, report.spec, type_)


def _call(declared: ir.OpAttributeMap, type_: ir.FunctionType) -> None:
    if not text_of(declared["fuse.extern"], "fuse.extern"):
        raise Broken("expected fuse.extern to name an op, got an empty name")
    _all_used(declared, type_.inputs, _arguments(declared, len(type_.inputs)))
    _product(declared, type_)


def _declaration(func: ir.Operation) -> None:
    if len(func.regions[0].blocks):
        raise Broken("expected an extern op to be a declaration, got a body")


def _product(declared: ir.OpAttributeMap, types: ir.FunctionType) -> None:
    """A sum of products has two tensors as factors and gives one tensor: passes look for all three."""
    name = text_of(declared["fuse.extern"], "fuse.extern")
    form = product_form(name)
    if form is None:
        return
    positional, named = extern_arguments(declared)
    given = [*zip(form.roles, positional, strict=False), *named.items()]
    read = {form.roles[n]: a for n, a in given if isinstance(a, Arg) and form.roles.get(n) in TENSORS}
    tensors = [*types.results, *(types.inputs[ir.IntegerAttr(a.params[0]).value] for a in read.values())]
    whole = len(types.results) == 1 and {"left", "right"} <= read.keys()
    if not whole or not all(isinstance(t, ir.RankedTensorType) for t in tensors):
        raise Broken(f"expected {name} to take two tensors at least and to give one")


def _arguments(declared: ir.OpAttributeMap, count: int) -> set[int]:
    """The operands, of ``count``, that args and kwargs name."""
    used: set[int] = set()
    if "fuse.args" in declared:
        arguments = declared["fuse.args"]
        if not isinstance(arguments, ir.ArrayAttr):
            raise Broken(f"expected fuse.args to be an array, got {arguments}")
        _collect(arguments, count, used)
    if "fuse.kwargs" in declared:
        for _, attribute in items_of(declared["fuse.kwargs"], "fuse.kwargs"):
            _collect(attribute, count, used)
    return used


def _collect(attribute: ir.Attribute, count: int, used: set[int]) -> None:
    if isinstance(attribute, Arg):
        position = integer_of(attribute.params[0], "the position of #fuse.arg")
        if not 0 <= position < count:
            raise Broken(f"expected #fuse.arg to name one of {count} operands, got {position}")
        used.add(position)
    elif isinstance(attribute, Torch):
        text = text_of(attribute.params[0], "#fuse.torch")
        kind, colon, name = text.partition(":")
        if kind not in TORCH_KINDS or not colon or not name:
            raise Broken(
                f"expected #fuse.torch of 'kind:name' with a kind of {', '.join(TORCH_KINDS)}, got '{text}'"
            )
    elif isinstance(attribute, Tuple):
        for element in array_of(attribute.params[0], "#fuse.tuple"):
            _collect(element, count, used)
    elif isinstance(attribute, ir.ArrayAttr):
        for element in attribute:
            _collect(element, count, used)
    elif isinstance(attribute, ir.DictAttr):
        for _, element in items_of(attribute, "an argument"):
            _collect(element, count, used)
    elif not isinstance(attribute, _LITERALS):
        raise Broken(
            "expected arguments made of literals, lists, types, #fuse.arg, #fuse.tuple and #fuse.torch, "
            f"got {attribute}"
        )


def _all_used(declared: ir.OpAttributeMap, inputs: Sequence[ir.Type], used: set[int]) -> None:
    """Every operand is an argument of the op or, in ``fuse.held``, one that it does not take."""
    held = integers_of(declared["fuse.held"], "fuse.held") if "fuse.held" in declared else ()
    for number in held:
        if not 0 <= number < len(inputs) or number in used:
            raise Broken(f"expected fuse.held to name operands that are no arguments, got {number}")
    for number, type_ in enumerate(inputs):
        if number not in used and number not in held and not is_token(type_):
            raise Broken(f"takes operand {number}, which none of fuse.args, fuse.kwargs and fuse.held names")


def _ranks(func: ir.Operation) -> None:
    if "fuse.ranks" in func.attributes:
        ranks = integer_of(func.attributes["fuse.ranks"], "fuse.ranks")
        if ranks < 1:
            raise Broken(f"expected fuse.ranks to be at least 1, got {ranks}")


def _storage(func: ir.Operation, report: Report) -> None:
    type_ = function_type(func)
    inputs, results = type_.inputs, type_.results
    if "fuse.mutated" in func.attributes:
        for number in integers_of(func.attributes["fuse.mutated"], "fuse.mutated"):
            if not 0 <= number < len(inputs) or report.spec(inputs[number]) is None:
                raise Broken(f"expected fuse.mutated to name tensor operands, got {number}")
    if "fuse.aliases" in func.attributes:
        for key, attribute in items_of(func.attributes["fuse.aliases"], "fuse.aliases"):
            operand = integer_of(attribute, "an operand in fuse.aliases")
            if not key.isdigit() or int(key) >= len(results) or report.spec(results[int(key)]) is None:
                raise Broken(f"expected fuse.aliases to name tensor results, got '{key}'")
            if not 0 <= operand < len(inputs) or report.spec(inputs[operand]) is None:
                raise Broken(f"expected fuse.aliases to name tensor operands, got {operand}")


def _symbols(func: ir.Operation) -> None:
    for number, (symbol, type_) in result_symbols(func).items():
        if not isinstance(type_, ir.IndexType):
            raise Broken(f"expected result {number}, the size '{symbol}', to be an index, got {type_}")


def result_symbols(func: ir.Operation) -> dict[int, tuple[str, ir.Type]]:
    """``fuse.sym`` of a declaration's results: result number -> symbol, type."""
    if "res_attrs" not in func.attributes:
        return {}
    results = function_type(func).results
    return {
        number: (text_of(attributes["fuse.sym"], "fuse.sym"), results[number])
        for number, attributes in enumerate(ir.ArrayAttr(func.attributes["res_attrs"]))
        if "fuse.sym" in attributes
    }
