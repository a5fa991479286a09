"""Random numbers.  Each op draws one (seed, offset) from the generator, in program order, and applies Philox
to the row-major index of its own shape.  So its numbers do not depend on any decision of a later pass.

Numbers are drawn in float32, as eager's GPU kernels do for all dtypes but float64.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ....base.dataclass import dataclass
from ....fx.table import keep_whole, lowers
from ....index import Expr, const
from ....ir.layout import TensorSpec
from ...importer.arithmetic import Operand, Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Number, Tensor

#: Random bits in one uniform number; the largest range of integers that two of them suffice for.
WORD_BITS = 24
WIDEST_RANGE = 1 << (63 - WORD_BITS)


@dataclass(frozen=True)
class Draw:
    """The draw of one op: the numbers of ``@main`` that its kernel takes."""

    seed: Number
    offset: Number

    @staticmethod
    def of(call: Call, spec: TensorSpec) -> "Draw":
        """Advances the default generator of ``spec``'s device.  Refuses a generator that the program
        passes.
        """
        if call.arguments.get("generator") is not None:
            call.refuse("it draws from a generator that the program passes")
        if spec.device is not None:
            call.refuse(f"the result is on {spec.device}, not on {call.builder.device}")
        builder = call.builder
        i64 = builder.element_type("i64")
        attributes = {"device": builder.string(builder.device), "count": builder.int64(1)}
        op = builder.op("fuse.rng", [i64, i64], [], attributes, call.location)
        seed, offset = op.results
        return Draw(Number(seed, torch.int64), Number(offset, torch.int64))

    @property
    def numbers(self) -> list[Number]:
        return [self.seed, self.offset]

    def at(
        self, k: KernelBuilder, sizes: Sequence[Expr], at: Sequence[Expr], dist: str, word: int = 0
    ) -> Scalar:
        """A float32 for the point ``at``.  ``dist``: uniform in [0, 1), or normal.  ``word``: below 4; draws
        of one op with different words are independent, as the generator's offsets are multiples of 4.
        """
        linear = const(0)
        for coordinate, size in zip(at, sizes, strict=True):
            linear = linear * size + coordinate
        offset = k.number(self.offset)
        offset = k.add(offset, word) if word else offset
        operands = [k.number(self.seed).value, offset.value, k.index(linear).value]
        value = k.emit("fuse.rand", k.type_of(torch.float32), operands, {"dist": k.builder.string(dist)})
        return Scalar(value, torch.float32)


Body = Callable[[KernelBuilder, Callable[..., Scalar], Sequence[Expr]], Operand]


def drawn(call: Call, body: Body, inputs: Sequence[Tensor] = ()) -> Any:
    """One kernel that stores ``body(kernel, number, at)``, where ``number(dist, word=0)`` is a random number
    at the point ``at``.
    """
    _reject_host_operands(call, inputs)
    draw = Draw.of(call, call.result)
    kernel = call.kernel(inputs, None, draw.numbers)
    sizes = call.result.sizes
    at = kernel.iterate(sizes)
    kernel.store(0, at, body(kernel, lambda dist, word=0: draw.at(kernel, sizes, at, dist, word), at))
    return call.finish(kernel)


def _reject_host_operands(call: Call, inputs: Sequence[Tensor]) -> None:
    """Refuses before anything is drawn, since a call that falls back draws by itself."""
    for spec in (call.result, *(t.spec for t in inputs)):
        if spec.device is not None or spec.element.startswith("complex"):
            call.refuse(f"a tensor of {spec.element} is on {spec.device or call.builder.device}")


def rounded(k: KernelBuilder, x: Scalar, dtype: torch.dtype, low: Operand, high: Operand) -> Scalar:
    """``x`` in [low, high) as an element of ``dtype``; if it rounds up to ``high`` it becomes ``low``, as in
    eager.
    """
    x = k.round_to(x, dtype)
    return k.select(k.compare("ge", x, k.cast(k.lift(high, x.dtype), x.dtype)), k.lift(low, x.dtype), x)


# --- floats -------------------------------------------------------------------------------------------------


@lowers("aten.rand.default", "aten.rand.generator")
def rand(call: Call) -> Any:
    return drawn(call, lambda k, number, at: rounded(k, number("uniform"), call.value.dtype, 0.0, 1.0))


@lowers("aten.randn.default", "aten.randn.generator")
def randn(call: Call) -> Any:
    return drawn(call, lambda k, number, at: number("normal"))


@lowers("aten.uniform.default")
def uniform(call: Call) -> Any:
    """In [from, to); from where the two are equal."""
    low, high = call["from"], call["to"]
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        call.refuse("the bounds are known only when the program runs")

    def body(k: KernelBuilder, number: Callable[..., Scalar], at: Sequence[Expr]) -> Scalar:
        x = k.add(k.mul(number("uniform"), high - low), low)
        return rounded(k, x, call.value.dtype, float(low), float(high))

    return drawn(call, body)


@lowers("aten.normal_functional.default", "prims.normal.default")
def normal(call: Call) -> Any:
    """mean + std * z."""
    mean, std = call["mean"], call["std"]
    if not isinstance(mean, (int, float)) or not isinstance(std, (int, float)):
        call.refuse("the moments are known only when the program runs")
    return drawn(call, lambda k, number, at: k.add(k.mul(number("normal"), std), mean))


# --- choices ------------------------------------------------------------------------------------------------


def _happens(k: KernelBuilder, u: Scalar, p: Operand) -> Scalar:
    """True with probability ``p``: u < p."""
    return k.compare("lt", k.cast(u, p.dtype) if isinstance(p, Scalar) else u, p)


@lowers("aten.bernoulli.p")
def bernoulli_number(call: Call) -> Any:
    p = call["p"]
    if not isinstance(p, (int, float)):
        call.refuse("the probability is known only when the program runs")
    return drawn(call, lambda k, number, at: _happens(k, number("uniform"), p))


@lowers("aten.bernoulli.default", "aten.bernoulli.Tensor")
def bernoulli(call: Call) -> Any:
    """A probability for every element."""
    p = call.tensor("p" if "p" in call.arguments else "self")
    if not p.dtype.is_floating_point:
        call.refuse(f"a probability of {p.dtype}")
    return drawn(
        call, lambda k, number, at: _happens(k, number("uniform"), k.load(p, k.broadcast(p, at))), [p]
    )


@lowers("aten.native_dropout.default")
def native_dropout(call: Call) -> Any:
    """(x * mask / (1 - p), mask), where the mask is true with probability 1 - p."""
    source, p, train = call.tensor("input"), call["p"], call["train"]
    if not isinstance(p, (int, float)) or not isinstance(train, (bool, type(None))):
        call.refuse("the probability is known only when the program runs")
    fakes = list(call.value)
    specs = [call.fresh(fake) for fake in fakes]
    if any(s.constant == 0 for s in source.sizes):
        return [
            call.made(call.builder.empty(s, call.location), f, s) for s, f in zip(specs, fakes, strict=True)
        ]
    for spec in (source.spec, *specs):
        if spec.device is not None or spec.element.startswith("complex"):
            call.refuse(f"a tensor of {spec.element} is on {spec.device or call.builder.device}")
    chance = 1.0 if train is False else 1.0 - p
    draw = Draw.of(call, specs[0]) if 0.0 < chance < 1.0 else None
    kernel = call.kernel([source], specs, draw.numbers if draw else [])
    at = kernel.iterate(source.sizes)
    x = kernel.load(source, at)
    if draw is None:
        keep = kernel.constant(chance == 1.0, torch.bool)
        value: Operand = x if chance == 1.0 else kernel.constant(0, x.dtype)
    else:
        keep = _happens(kernel, draw.at(kernel, source.sizes, at, "uniform"), chance)
        value = kernel.mul(kernel.mul(x, kernel.cast(keep, x.dtype)), 1.0 / chance)
    kernel.store(0, at, value)
    kernel.store(1, at, keep)
    return call.finish(kernel)


# --- integers -----------------------------------------------------------------------------------------------


@lowers("aten.randint.low", "aten.randint.low_generator", "aten.randint.default", "aten.randint.generator")
def randint(call: Call) -> Any:
    """``low + (w * (high - low) >> 48)`` for a 48-bit random *w*: two words of 24 bits, multiplied without
    overflow.

    There is no rejection step as in Lemire (2019), so the relative error of a number's probability is at most
    ``(high - low) / 2**48``, plus the error of rounding the words to float32.
    """
    low, high = call.arguments.get("low", 0), call["high"]
    if not isinstance(low, int) or not isinstance(high, int):
        call.refuse("the bounds are known only when the program runs")
    span = high - low
    if not 0 < span < WIDEST_RANGE or not -(2**63) <= low < 2**63:
        call.refuse(f"a range of {span} numbers is too wide")

    def body(k: KernelBuilder, number: Callable[..., Scalar], at: Sequence[Expr]) -> Scalar:
        upper, lower = (_word(k, number("uniform", word)) for word in range(2))
        carried = k.shift_right(k.mul(lower, span), WORD_BITS)
        return k.add(k.shift_right(k.add(k.mul(upper, span), carried), WORD_BITS), low)

    return drawn(call, body)


def _word(k: KernelBuilder, u: Scalar) -> Scalar:
    """The upper bits of a uniform number as an int64."""
    return k.cast(k.mul(u, float(1 << WORD_BITS)), torch.int64)


keep_whole("a permutation is a sort of random keys", "aten.randperm.default", "aten.randperm.generator")
keep_whole("it draws without replacement", "aten.multinomial.default")
