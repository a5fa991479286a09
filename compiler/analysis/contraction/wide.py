"""Wide chains: products of more than 128 columns, whose weights programs copy for each block of rows.

Shared memory does not hold the weights of such a chain, and registers hold no more than the sums of one
product and the columns of the one before (``held.py``).  So a program reads the first rows, weights that
descriptors can name as they lie in memory, and little else.
"""

from ...cost.hardware import Hardware
from ...ir.layout import TensorSpec
from ...ir.sizes import ceil_power
from ...ir.views import root_of
from ...mlir import ir
from ..kernel.streams import streams
from .held import COPYING_ROWS, NARROW, fills_copying
from .product import Product
from .surroundings import Surroundings
from .tensor_cores import FEW
from .tiles import SPARE_BYTES

#: The most columns of a product, and the most elements that it sums.
WIDEST = 256
#: The part of tensor cores' peak that a program reaches which copies weights before each product, and of the
#: bandwidth of device memory; microseconds until the descriptor of a matrix is made.  Fitted to 2, 4 and 8
#: layers of 256 columns on an H200: 262144 rows took 184, 290 and 510 us, 16384 rows 44.
_REACHED, _BANDWIDTH, _DESCRIBES = 0.66, 0.75, 1.0
#: Issue slots of an activation of a product; and the part of all slots that a program uses between two
#: products, where no tensor core is at work: 64-256x7-4 columns with biases and GELU took 1090 us, not 397.
_ACTIVATION = {"": 0, "relu": 0, "gelu": 18}
_ISSUED = 0.43
#: How many times its estimate the library takes where a result is larger than the L2 cache: 8 layers of
#: 262144 rows and 256 columns took 685 us, not 525; 64-256x7-4 columns 616, not 474.
_LIBRARY = 1.3
#: A tensor that is read between two products has at most this part of the bytes of a result.
_LITTLE = 1 / 16


def is_wide(product: Product) -> bool:
    """Whether it has so many columns that a chain of it is a wide one."""
    columns = product.size("right").constant
    return columns is not None and columns > NARROW


def is_copied(product: Product, around: Surroundings, hardware: Hardware) -> bool:
    """Whether a product may be part of a wide chain: there are blocks of rows for the multiprocessors,
    shared memory holds its weights, and descriptors can copy them, or these have few columns.
    """
    rows, columns, summed = (product.size(role).constant or 0 for role in ("left", "right", "summed"))
    if not hardware.descriptors or not fills_copying(rows, hardware) or max(columns, summed) > WIDEST:
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


def library_microseconds(
    estimated: float, product: Product, around: Surroundings, hardware: Hardware
) -> float:
    """Of the call of a product of a wide chain."""
    return estimated * (_LIBRARY if around.bytes_of(product.result) > hardware.l2_bytes else 1.0)


def kernel_microseconds(products: tuple[Product, ...], moved: int, slots: int, hardware: Hardware) -> float:
    """Of a wide chain beside its launch.  Blocks are computed whole.  ``moved``: bytes; ``slots``: issue
    slots of what is computed between products, their own activations apart.
    """
    blocks = -(-max(product.size("left").constant or 0 for product in products) // COPYING_ROWS)
    waves = -(-blocks // hardware.sm_count)
    multiplied = 0.0
    for product in products:
        columns, summed = (ceil_power(product.size(role).constant or 1) for role in ("right", "summed"))
        speed = hardware.flops_per_second(product.specs["left"].element) / hardware.sm_count
        multiplied += 2.0 * COPYING_ROWS * columns * summed / (speed * _REACHED) * 1e6
        slots += _ACTIVATION[product.activation] * blocks * COPYING_ROWS * columns
    moving = moved / (hardware.bandwidth * _BANDWIDTH * 1e3)
    issuing = slots / (hardware.slots_per_second * _ISSUED) * 1e6
    return waves * multiplied + moving + issuing + _DESCRIBES * len(products)
