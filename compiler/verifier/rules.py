"""What the verifier's parts share: how a rule says it is broken, and readers of attributes that say so."""

from collections.abc import Callable, Iterable
from typing import Any

from ..index import Expr, parse
from ..ir.kernel import natural
from ..ir.layout import ELEMENT_BYTES, TensorSpec
from ..mlir import ir

#: What a size's argument may say of it.
_FACTS = ("fuse.min", "fuse.max", "fuse.multiple", "fuse.hint")


class Broken(Exception):
    """A rule is broken: what was expected and what was found, in a sentence that follows the op's name."""


class Report:
    """Emits each complaint at its op and counts them; remembers types and attributes that were read.

    ``views``: the sizes that a view names, by its map and the types of its source and result, for those that
    agree.
    """

    def __init__(self) -> None:
        self.complaints = 0
        self.views: dict[tuple[ir.Attribute, ir.Type, ir.Type], frozenset[str]] = {}
        self._lists: dict[ir.Attribute, tuple[str, ...]] = {}
        self._specs: dict[ir.Type, TensorSpec | None] = {}
        self._texts: dict[ir.Type, str] = {}

    def complain(self, op: ir.Operation, sentence: str) -> None:
        """One located error about ``op``."""
        self.complaints += 1
        op.operation.location.emit_error(f"'{op.operation.name}' op {sentence}")

    def check(self, op: ir.Operation, rule: Callable[..., Any], *arguments: Any) -> Any:
        """``rule(*arguments)``; where it is broken, a complaint about ``op`` and the result None."""
        try:
            return rule(*arguments)
        except (Broken, ValueError) as error:
            self.complain(op, str(error))
            return None

    def spec(self, type_: ir.Type) -> TensorSpec | None:
        """The layout of a tensor type, None for another type.  Raises ValueError for a malformed layout."""
        try:
            return self._specs[type_]
        except KeyError:
            pass
        spec = TensorSpec.of(type_) if isinstance(type_, ir.RankedTensorType) else None
        if spec is not None and spec.element not in ELEMENT_BYTES:
            raise Broken(f"expected an element type of {', '.join(ELEMENT_BYTES)}, got {type_}")
        if spec is not None and _last_byte(spec) >= 2**63:
            raise Broken(f"expected a tensor whose bytes 64-bit integers can number, got {type_}")
        self._specs[type_] = spec
        return spec

    def tensor(self, value: ir.Value, what: str) -> TensorSpec:
        """The layout of a value that must be a tensor."""
        spec = self.spec(value.type)
        if spec is None:
            raise Broken(f"expected {what} to be a ranked tensor, got {value.type}")
        return spec

    def texts(self, attribute: ir.Attribute, what: str) -> tuple[str, ...]:
        """``texts_of``."""
        known = self._lists.get(attribute)
        if known is None:
            known = self._lists[attribute] = texts_of(attribute, what)
        return known

    def text(self, type_: ir.Type) -> str:
        """``str(type_)``."""
        known = self._texts.get(type_)
        if known is None:
            known = self._texts[type_] = str(type_)
        return known


def _last_byte(spec: TensorSpec) -> int:
    """How far the last element of a tensor is from the first of its storage, in bytes, as far as its layout
    says: where a size is unknown, one step along its dim counts.  A tensor without elements has no last one:
    0, whatever its strides are.
    """
    if any(n.constant == 0 for n in spec.sizes):
        return 0
    lengths = (1 if n.constant is None else n.constant - 1 for n in spec.sizes)
    steps = (abs(stride.constant or 0) for stride in spec.strides)
    ahead = abs(spec.offset.constant or 0) + sum(n * s for n, s in zip(lengths, steps, strict=True))
    return ahead * spec.element_bytes


def _cast(cls: Any, attribute: ir.Attribute, what: str, article: str) -> Any:
    """``attribute`` as ``cls``; parameters of Python-defined attributes come as plain attributes."""
    if isinstance(attribute, cls):
        return attribute
    try:
        return cls(attribute)
    except ValueError:
        raise Broken(f"expected {what} to be {article}, got {attribute}") from None


def text_of(attribute: ir.Attribute, what: str) -> str:
    """The value of a string attribute."""
    return _cast(ir.StringAttr, attribute, what, "a string").value


def array_of(attribute: ir.Attribute, what: str) -> tuple[ir.Attribute, ...]:
    """The elements of an array."""
    return tuple(_cast(ir.ArrayAttr, attribute, what, "an array"))


def texts_of(attribute: ir.Attribute, what: str) -> tuple[str, ...]:
    """The values of an array of strings."""
    return tuple(text_of(a, what) for a in _cast(ir.ArrayAttr, attribute, what, "an array of strings"))


def integer_of(attribute: ir.Attribute, what: str) -> int:
    """The value of an integer attribute."""
    return _cast(ir.IntegerAttr, attribute, what, "an integer").value


def integers_of(attribute: ir.Attribute, what: str) -> tuple[int, ...]:
    """The values of an ``array<i64: ..>``."""
    return tuple(_cast(ir.DenseI64ArrayAttr, attribute, what, "an array<i64>"))


def items_of(attribute: ir.Attribute, what: str) -> list[tuple[str, ir.Attribute]]:
    """The pairs of a dictionary attribute."""
    dictionary = _cast(ir.DictAttr, attribute, what, "a dictionary")
    return [(named.name, named.attr) for named in (dictionary[i] for i in range(len(dictionary)))]


def expressions_of(attribute: ir.Attribute, what: str) -> tuple[Expr, ...]:
    """An array of strings, each an index expression."""
    return tuple(map(parse, texts_of(attribute, what)))


def one_of(value: str, known: Iterable[str], what: str) -> str:
    """``value`` if it is known."""
    if value not in known:
        raise Broken(f"expected {what} to be one of {', '.join(known)}, got '{value}'")
    return value


def listed(names: Iterable[str]) -> str:
    """Names in natural order, for a message."""
    return ", ".join(sorted(names, key=natural)) or "none"


def argument_symbols(func: ir.Operation) -> dict[str, int]:
    """``fuse.sym`` of a function's arguments: symbol -> argument number."""
    if "arg_attrs" not in func.attributes:
        return {}
    found: dict[str, int] = {}
    inputs = function_type(func).inputs
    for number, attributes in enumerate(ir.ArrayAttr(func.attributes["arg_attrs"])):
        if "fuse.sym" not in attributes:
            continue
        symbol = text_of(attributes["fuse.sym"], "fuse.sym")
        if not isinstance(inputs[number], ir.IndexType):
            raise Broken(
                f"expected the size '{symbol}' to be an index, got {inputs[number]} as argument {number}"
            )
        _check_facts(symbol, attributes)
        if symbol in found:
            raise Broken(
                f"expected one argument for the size '{symbol}', got arguments {found[symbol]} and {number}"
            )
        found[symbol] = number
    return found


def _check_facts(symbol: str, attributes: ir.Attribute) -> None:
    """The attributes of a size are numbers, and its least value is not above its greatest."""
    facts = {n: integer_of(attributes[n], n) for n in _FACTS if n in attributes}
    low, high = facts.get("fuse.min", 0), facts.get("fuse.max")
    if high is not None and low > high:
        raise Broken(f"expected fuse.min of '{symbol}' to be at most its fuse.max, got {low} and {high}")


def function_type(func: ir.Operation) -> ir.FunctionType:
    """The type of a ``func.func``."""
    return ir.TypeAttr(func.attributes["function_type"]).value


def is_token(type_: ir.Type) -> bool:
    """Whether ``type_`` is ``!fuse.token``."""
    from ..ir.dialects.fuse import Token

    return isinstance(type_, Token)


def check_tied(func: ir.Operation, report: Report) -> tuple[int, ...]:
    """``fuse.ties``: every result is tied, each to an argument of its own and of the same type."""
    ties = integers_of(func.attributes["fuse.ties"], "fuse.ties") if "fuse.ties" in func.attributes else ()
    type_ = function_type(func)
    inputs, results = type_.inputs, type_.results
    if len(ties) != len(results):
        raise Broken(f"expected one tie for each of {len(results)} results, got fuse.ties of {len(ties)}")
    for number, (tie, result) in enumerate(zip(ties, results, strict=True)):
        if not 0 <= tie < len(inputs):
            raise Broken(
                f"expected the tie of result {number} to be one of {len(inputs)} arguments, got {tie}"
            )
        if report.spec(result) is None:
            raise Broken(f"expected result {number} to be a ranked tensor, got {result}")
        if inputs[tie] != result:
            raise Broken(f"expected result {number} to have its argument's type {inputs[tie]}, got {result}")
    if len(set(ties)) != len(ties):
        raise Broken(f"expected results that are tied to different arguments, got the ties {list(ties)}")
    return ties


def check_arguments(func: ir.Operation, symbols: Iterable[str], report: Report) -> None:
    """Tensor types name only sizes that are arguments; tokens come after tensors."""
    token_seen = False
    for number, type_ in enumerate(function_type(func).inputs):
        spec = report.spec(type_)
        if spec is None:
            token_seen |= is_token(type_)
            continue
        if token_seen:
            raise Broken(f"expected tokens after all tensors, got the tensor argument {number} after a token")
        missing = [s for s in spec.symbols if s not in symbols]
        if missing:
            raise Broken(
                f"argument {number} of type {type_} needs the size {missing[0]}, which is no argument"
            )
