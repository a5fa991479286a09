"""Pairs of products whose columns a program goes through: attention that a program spells out.

A product gives scores of rows i and columns j; a softmax, a mask or a sigmoid is computed of them, and
another product sums the result along j.  As calls of the library, the scores pass through memory at each
step.  As one kernel (``derive-cascades``) they are never there.  Each product by itself would lose against
the library, so the pair is weighed as a whole.
"""

from collections.abc import Sequence

from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.work import Work
from ...ir.sizes import estimate
from ...ir.views import root_of
from .chains import Chain, ChainCost, library_of, steps_of
from .product import Product
from .roofline import margin
from .surroundings import Surroundings

#: The element types that were measured.
_TYPES = ("bf16", "f16")
#: Rows of scores that were measured: few, so that bytes of keys bound a kernel whose columns are split, or
#: enough for a block.
_MOST_FEW, _FEWEST_ROWS = 16, 64
#: The fewest columns: of fewer, scores stay in the cache.
_FEWEST_COLUMNS = 256
#: Rows and columns of matrices of a batch that a block holds whole, as chunks of a sequence are, and the
#: fewest bytes of all scores.
_CHUNK, _LEAST_SCORES = (64, 128), 16 << 20
#: The fewest and the most elements of a row of a factor that is no scores.
_NARROWEST_HEAD, _WIDEST_HEAD = 16, 256
#: The most products whose sum is scores.
_MOST_FIRST = 2
#: The most calls of a chain that becomes a kernel, its products included.
MOST_CALLS = 48
#: The most kernels between two products.
_MOST_BETWEEN = 40


def cascades_of(products: Sequence[Product], around: Surroundings) -> list[Chain]:
    """The pairs among the products of a module that may run through their columns, each a chain of scores
    and of what sums them.  Of chunks, the scores may be its right factor: it is ``swapped`` then.  Whether
    the algebra allows it, ``derive-cascades`` finds out.
    """
    candidates = {p.result: p for p in products if _may_be_part(p)}
    found = list[Chain]()
    for last, step in steps_of(candidates, around, _MOST_BETWEEN):
        scores = step.makers
        if len(scores) > _MOST_FIRST or not step.inner - {p.result for p in scores}:
            continue
        if _has_few_rows(last, around) and not step.reduces:  # ``split-reductions`` cuts a softmax alone
            continue
        chunks = _are_chunks(scores, step.reduces, around)
        if not chunks and last.result in candidates and last != candidates[last.result]:
            continue  # nobody has measured others whose right factor is made of scores
        if all(_is_measured(p, last, around, chunks) for p in scores):
            found.append(Chain(scores, ((last, step),)))
    return found


def cascade_cost(chain: Chain, around: Surroundings, hardware: Hardware) -> ChainCost:
    """What a pair takes as a kernel, and as calls with the kernels between them: all that is computed of the
    scores is stored and read twice at least where they are reduced, and once where they are not.
    """
    [(last, step)] = chain.steps
    rates = hardware.rates.chains
    library = library_of(chain, around, hardware)
    scores = around.bytes_of(chain.first[0].result)
    between = Work(2 * scores, launches=1)
    library += microseconds(between, hardware, hardware.rates.streaming.rows)
    if _has_few_rows(last, around):
        kernel = microseconds(_few_rows(chain, around), hardware, rates.few_rows)
        return ChainCost(kernel, library, margin(library, hardware), cascade=True)
    moved = set(step.outer)
    for product in chain.products:
        moved |= {root for v in (*product.operands, product.result) if (root := root_of(v)) not in step.inner}
    element = last.specs["left"].element
    moved_bytes, flops = sum(map(around.bytes_of, moved)), chain.flops(around.hints)
    work = Work(moved_bytes, slots=step.slots, flops=flops, element=element, launches=1)
    kernel = microseconds(work, hardware, rates.cascade)
    return ChainCost(kernel, library, margin(library, hardware), cascade=True)


def _few_rows(chain: Chain, around: Surroundings) -> Work:
    """Of a kernel that reads keys and values as they lie, and one that joins the slices of its columns.  Rows
    that share keys share what is computed of them: of each byte that is read, at most.
    """
    [(last, step)] = chain.steps
    moved, slots = {last.result, *step.outer}, step.slots
    for product in chain.products:
        slots_of = around.cost(product).slots
        for role in ("left", "right"):
            value = product.values[role]
            if root_of(value) not in step.inner:
                _, sources = around.made_of(value)
                moved.update(sources)
                read = sum(map(around.bytes_of, sources))
                slots += slots_of.get(role, 0) * min(around.elements_of(value), read)
    return Work(sum(map(around.bytes_of, moved)), slots=slots, launches=2)


def _may_be_part(product: Product) -> bool:
    return (
        product.specs["left"].element in _TYPES
        and product.specs["result"].element in _TYPES
        and product.unsupported() is None
        and not product.is_of_images
        and product.size("batch").constant != 1  # layers of a network, which nobody has measured
    )


def _has_few_rows(last: Product, around: Surroundings) -> bool:
    return estimate(last.size("left"), around.hints) <= _MOST_FEW


def _are_chunks(scores: Sequence[Product], reduces: bool, around: Surroundings) -> bool:
    """Whether a block holds the scores of each matrix of a large batch, and nothing is reduced of them."""
    if reduces or len(scores) != 1 or around.bytes_of(scores[0].result) < _LEAST_SCORES:
        return False
    return all(scores[0].size(role).constant in _CHUNK for role in ("left", "right"))


def _is_measured(scores: Product, last: Product, around: Surroundings, chunks: bool) -> bool:
    sizes = {role: estimate(scores.size(role), around.hints) for role in ("left", "right", "summed")}
    head = estimate(last.size("right"), around.hints)
    return (
        (sizes["left"] >= _FEWEST_ROWS or sizes["left"] <= _MOST_FEW)
        and (sizes["right"] >= _FEWEST_COLUMNS or chunks)
        and max(sizes["summed"], head) <= _WIDEST_HEAD
        and min(sizes["summed"], head) >= _NARROWEST_HEAD
    )
