"""Chains of products that stay in registers: what sums along the columns of a product is another product.

The layers of a narrow network are such a chain, and a softmax of a product that is multiplied again::

    h = relu(x @ w)    y = h @ v        // h has as many rows as x, and few columns

As calls of the library, each product writes its result to memory, and what is computed of it reads it again.
As one kernel (``fusion/columns.py``), a program holds all columns of a block of rows: only the first rows,
the weights and the last result are moved.  So a chain is weighed as a whole.  Each of its products by itself
would lose against the library.  Chains of more than 128 columns are *wide* (``wide.py``).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...base.dataclass import dataclass
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.work import Work
from ...ir.sizes import estimate
from ...ir.views import root_of, users_of
from ...mlir import ir
from . import wide
from .held import CHAIN_COLUMNS
from .plan import plan_of
from .product import Product
from .roofline import margin, unmeasured
from .surroundings import Surroundings
from .tensor_cores import FEW

#: The fewest rows of a product of a chain.
_FEWEST_ROWS = 4096
#: The most kernels between two products.
_MOST_BETWEEN = 16
#: What is no reason against a last product of few columns: that they are few, and the strides of its weights,
#: which are loaded once.
_OF_FEW = ("few-rows", "strides")


@dataclass(frozen=True)
class ChainStep:
    """What one product of a chain reads of others: the ``makers`` of what its left factor is made of.

    ``inner``: the values between them, which no kernel outside of the chain reads.  ``outer``: what else is
    read for the factor.  ``reduces``: whether something is reduced between the products.  ``slots``: issue
    slots of all that is computed between them.
    """

    makers: tuple[Product, ...]
    inner: frozenset[ir.Value]
    outer: frozenset[ir.Value]
    reduces: bool
    slots: int


@dataclass(frozen=True)
class Chain:
    """Two or more products, each with what it reads of others; ``first`` reads nothing of others."""

    first: tuple[Product, ...]
    steps: tuple[tuple[Product, ChainStep], ...]

    @property
    def products(self) -> tuple[Product, ...]:
        """All products, those that read nothing of others first."""
        return (*self.first, *(product for product, _ in self.steps))

    def flops(self, hints: Mapping[str, int]) -> int:
        """Floating-point operations of all products, with every size at its hint."""
        roles = ("batch", "left", "right", "summed")
        return sum(2 * math.prod(estimate(p.size(role), hints) for role in roles) for p in self.products)

    @property
    def is_wide(self) -> bool:
        """Whether a product has more columns than programs hold the weights of."""
        return any(map(wide.is_wide, self.products))


@dataclass(frozen=True)
class ChainCost:
    """Estimates in microseconds: as a kernel, and as calls with the kernels between them.  ``margin``: the
    part of the calls' time that the kernel is to take at most.  ``wide``: whether they are of a wide chain.
    ``cascade``: whether a program goes through the columns (``cascades.py``).  ``pair``: whether they are two
    products of the same rows in segments (``segment_pairs.py``).
    """

    kernel: float
    library: float
    margin: float
    wide: bool = False
    cascade: bool = False
    pair: bool = False

    @property
    def rule(self) -> str:
        """The rule that decides, as remarks name it."""
        return "cascade" if self.cascade else "pair" if self.pair else "chain"

    @property
    def pays(self) -> bool:
        """Whether the chain becomes a kernel."""
        return self.kernel <= self.margin * self.library


def wide_chains_of(products: Sequence[Product], around: Surroundings, hardware: Hardware) -> list[Chain]:
    """The wide chains among the products of a module, of products that measurements say something about."""
    if not any(map(wide.is_wide, products)):
        return []
    copied = [
        p
        for p in products
        if _is_narrow(p, around, hardware, wide.WIDE_COLUMNS) and wide.is_copied(p, around, hardware)
    ]
    return [chain for chain in chains_of(copied, around, hardware, wide.WIDE_COLUMNS) if chain.is_wide]


def chains_of(
    products: Sequence[Product], around: Surroundings, hardware: Hardware, widest: int = CHAIN_COLUMNS
) -> list[Chain]:
    """The chains among the products of a module that have at most ``widest`` columns, of products that
    measurements say something about.
    """
    narrow = {
        product.result: product for product in products if _is_narrow(product, around, hardware, widest)
    }
    if len(narrow) < 2:
        return []
    steps = {r: step for r, p in narrow.items() if (step := _step(p, narrow, around)) is not None}
    if widest > CHAIN_COLUMNS:
        steps = {r: step for r, step in steps.items() if _holds_one(step, around)}
    read = {maker.result for step in steps.values() for maker in step.makers}
    return [_ending_with(result, narrow, steps) for result in steps if result not in read]


def _ending_with(
    last: ir.Value, narrow: Mapping[ir.Value, Product], steps: Mapping[ir.Value, ChainStep]
) -> Chain:
    first, later = dict[ir.Value, Product](), dict[ir.Value, tuple[Product, ChainStep]]()
    pending = [last]
    while pending:
        result = pending.pop()
        if result in steps:
            later[result] = narrow[result], steps[result]
            pending += [maker.result for maker in steps[result].makers]
        else:
            first[result] = narrow[result]
    return Chain(tuple(first.values()), tuple(later.values()))


def steps_of(
    products: Mapping[ir.Value, Product], around: Surroundings, most: int
) -> Iterator[tuple[Product, ChainStep]]:
    """Each of ``products``, by result, whose left factor is computed of others by at most ``most`` kernels,
    or whose right one is: ``swapped`` then.  Other kernels may reduce what is computed of them, such as the
    sum by which the result is divided.
    """
    for product in products.values():
        for each in (product, product.swapped):
            step = _step(each, products, around, most, reduced=True)
            if step is not None:
                yield each, step
                break


def library_of(chain: Chain, around: Surroundings, hardware: Hardware) -> float:
    """Microseconds of the calls of a chain, and of the kernels between them that reduce."""
    library = 0.0
    for product in chain.products:
        cost = around.cost(product)
        called = plan_of(product, cost, around.hints, hardware).library_microseconds(cost)
        library += wide.as_call(called, product, around, hardware) if chain.is_wide else called
    for _, step in chain.steps:
        if step.reduces:  # a kernel of its own, which reads one result and writes another
            between = Work(2 * around.bytes_of(step.makers[0].result), launches=1)
            library += microseconds(between, hardware, hardware.rates.streaming.rows)
    return library


def cost_of(chain: Chain, around: Surroundings, hardware: Hardware) -> ChainCost:
    """What a chain takes."""
    inner = frozenset[ir.Value]().union(*(step.inner for _, step in chain.steps))
    moved = {value for _, step in chain.steps for value in step.outer}
    library = library_of(chain, around, hardware)
    for product in chain.products:
        moved |= {root for v in (*product.operands, product.result) if (root := root_of(v)) not in inner}
    moved_bytes = sum(map(around.bytes_of, moved))
    if chain.is_wide:
        slots = sum(step.slots for _, step in chain.steps)
        kernel = wide.as_kernel(chain.products, moved_bytes, slots, hardware)
    else:
        element = chain.products[0].specs["left"].element
        work = Work(moved_bytes, flops=chain.flops(around.hints), element=element, launches=1)
        kernel = microseconds(work, hardware, hardware.rates.chains.chain)
    return ChainCost(kernel, library, margin(library, hardware), chain.is_wide)


def _is_narrow(product: Product, around: Surroundings, hardware: Hardware, widest: int) -> bool:
    """Whether it multiplies two matrices, to many rows of so few columns that a program holds them all: at
    most ``widest``.
    """
    if product.dims["left"] != "mk" or product.dims["right"] != "kn" or product.unsupported() is not None:
        return False
    rows, columns = (product.size(role).constant for role in ("left", "right"))
    if rows is None or columns is None or columns > widest or rows < _FEWEST_ROWS:
        return False
    alone = replace(around.cost(product), reduced=False, behind=None)  # what is around it is of the chain
    reason = unmeasured(product, alone, hardware)
    return reason is None or (1 < columns <= FEW and reason.rule in _OF_FEW)


def _step(
    product: Product,
    narrow: Mapping[ir.Value, Product],
    around: Surroundings,
    most: int = _MOST_BETWEEN,
    *,
    reduced: bool = False,
) -> ChainStep | None:
    """What a product reads of the narrow ones, with at most ``most`` kernels between; None where it reads
    nothing of them, or another one reads it, too: but for a kernel that reduces it, where ``reduced``."""
    makers, between, outer = dict[ir.Value, Product](), dict[ir.Value, ir.Operation](), set[ir.Value]()
    pending = [root_of(product.values["left"])]
    while pending:
        value = pending.pop()
        if value in makers or value in between or value in outer:
            continue
        if value in narrow and not _has_few(narrow[value]):
            makers[value] = narrow[value]
        elif around.is_scalar(value) and len(between) < most:
            between[value] = value.owner
            pending += [root_of(v) for v in around.read_by(value.owner)]
        else:
            outer.add(value)
    if any(not _fits(maker, product) for maker in makers.values()):
        return None
    inner = _made_of(makers, between, around)
    inside = {product.result.owner, *(between[v] for v in inner if v in between)}
    others = {user for value in inner for user in users_of(value)} - inside
    if not makers or not all(reduced and around.absorbs(user) and around.reduces(user) for user in others):
        return None
    reduces = any(around.reduces(between[v]) for v in inner if v in between)
    read = {root_of(v) for op in inside - {product.result.owner} for v in around.read_by(op)}
    slots = sum(around.slots(op) * around.elements_of(v) for v, op in between.items() if v in inner)
    return ChainStep(tuple(makers.values()), frozenset(inner), frozenset(read - inner), reduces, slots)


def _holds_one(step: ChainStep, around: Surroundings) -> bool:
    """Whether a program holds the columns of one product between two, and little is read beside them."""
    if len(step.makers) > 1 or step.reduces:
        return False
    return all(wide.is_little(value, step.makers[0], around) for value in step.outer)


def _has_few(product: Product) -> bool:
    """Whether it has so few columns that it can only be the last of a chain."""
    columns = product.size("right").constant
    return columns is not None and columns <= FEW


def _fits(maker: Product, product: Product) -> bool:
    """Whether the rows of two products are the same, and the columns of one are what the other sums."""
    return maker.size("left") == product.size("left") and maker.size("right") == product.size("summed")


def _made_of(
    makers: Mapping[ir.Value, Product], between: Mapping[ir.Value, ir.Operation], around: Surroundings
) -> set[ir.Value]:
    """The results of ``makers``, and all that is computed of them.  ``between``: readers come first."""
    inner = set(makers)
    for _ in between:
        more = {v for v, op in between.items() if v not in inner and any(_reads(op, inner, around))}
        if not more:
            break
        inner |= more
    return inner


def _reads(op: ir.Operation, values: set[ir.Value], around: Surroundings) -> Iterator[bool]:
    return (root_of(v) in values for v in around.read_by(op))
