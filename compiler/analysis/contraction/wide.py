"""Wide chains: products of more than 128 columns, whose weights programs copy for each block of rows.

Shared memory does not hold the weights of such a chain, and registers hold no more than the sums of one
product and the columns of the one before (``held.py``).  So a program reads the first rows, weights that
descriptors can name as they lie in memory, and little else.
"""

from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.slots import ACTIVATIONS
from ...cost.work import Work
from ...ir.layout import TensorSpec
from ...ir.sizes import ceil_power
from ...ir.views import root_of
from ...mlir import ir
from ..kernel.descriptors import streams
from .held import CHAIN_COLUMNS, COPYING_ROWS, fills_copying
from .product import Product
from .surroundings import Surroundings
from .tensor_cores import FEW
from .tiles import SPARE_BYTES

#: The most columns of a product, and the most elements that it sums.
WIDE_COLUMNS = 256
#: A tensor that is read between two products has at most this part of the bytes of a result.
_LITTLE = 1 / 16


def is_wide(product: Product) -> bool:
    """Whether it has so many columns that a chain of it is a wide one."""
    columns = product.size("right").constant
    return columns is not None and columns > CHAIN_COLUMNS


def is_copied(product: Product, around: Surroundings, hardware: Hardware) -> bool:
    """Whether a product may be part of a wide chain: there are blocks of rows for the multiprocessors,
    shared memory holds its weights, and descriptors can copy them, or these have few columns.
    """
    rows, columns, summed = (product.size(role).constant or 0 for role in ("left", "right", "summed"))
    if not hardware.descriptors or not fills_copying(rows, hardware) or max(columns, summed) > WIDE_COLUMNS:
        return False
    factor, root = product.specs["right"], root_of(product.values["right"])
    if columns * summed * factor.element_bytes + SPARE_BYTES > hardware.shared_bytes:
        return False
    whole = TensorSpec.of(root.type)
    lies = not around.is_scalar(root) and {*whole.sizes} == {*factor.sizes} and whole.rank == factor.rank
    return lies and (columns <= FEW or streams(whole))


def is_little(value: ir.Value, beside: Product, around: Surroundings) -> bool:
    """Whether a tensor is no more than, say, a bias next to the result of a product."""
    return around.bytes_of(value) <= around.bytes_of(beside.result) * _LITTLE


def as_call(estimated: float, product: Product, around: Surroundings, hardware: Hardware) -> float:
    """Of the call of a product of a wide chain."""
    spills = hardware.rates.chains.call_spills
    return estimated * (spills if around.bytes_of(product.result) > hardware.l2_bytes else 1.0)


def as_kernel(products: tuple[Product, ...], moved: int, slots: int, hardware: Hardware) -> float:
    """Microseconds of a wide chain, launch included.  Blocks are computed whole.  ``moved``: bytes;
    ``slots``: issue slots of what is computed between products, their own activations apart.
    """
    blocks = -(-max(product.size("left").constant or 0 for product in products) // COPYING_ROWS)
    programs = -(-blocks // hardware.sm_count) * hardware.sm_count
    flops = 0
    for product in products:
        columns, summed = (ceil_power(product.size(role).constant or 1) for role in ("right", "summed"))
        flops += 2 * programs * COPYING_ROWS * columns * summed
        slots += ACTIVATIONS[product.activation] * blocks * COPYING_ROWS * columns
    work = Work(
        moved,
        slots=slots,
        flops=flops,
        element=products[0].specs["left"].element,
        steps=len(products),
        launches=1,
    )
    return microseconds(work, hardware, hardware.rates.chains.wide)
