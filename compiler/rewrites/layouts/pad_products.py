"""The sizes of a 16-bit matrix product are padded with zeros to whole vectors of the tensor cores.

A product of 16-bit numbers runs at full speed only if, in each of the three matrices, the dim that is
contiguous in memory has a multiple of 8 elements: each row then begins at a multiple of 16 bytes, and cuBLAS
has its fast kernels.  With 50257 columns, GPT-2's vocabulary, an H200 takes 3370 us instead of 450; with
30522, BERT's, 810 us instead of 280.  (Aligned rows alone do not help: cuBLAS looks at the sizes, too.)

Before::

    y = aten.mm(x, w.t())                                    # w is [50257, 768]

After::

    y = aten.mm(x, constant_pad_nd(w, [0, 0, 0, 47]).t())[:, :50257]

The slice is a view.  The generated kernel that computes an operand, if one does, writes its zeros, too.  Any
other operand is copied.  Products share the padded copy of an operand, and so do sums of its columns.

It does not fire where all sizes are such multiples; where the product is too small to win back the copies;
for other element types (ordinary cores load single elements, and float32 gains nothing); nor for sizes that
are unknown while compiling.

Why not an MLIR pass: padding pays by the rules of torch's libraries, and the strides of the padded result
spread through metadata to the readers and to the caller (option ``output_strides``).
"""

from collections.abc import Iterator
from dataclasses import field

import torch
from torch import Tensor
from torch.fx import Node

from ...base.dataclass import dataclass
from ...fx.products import overloads
from ...fx.views import is_one_view
from ..rewriting import rewrite
from .relayout import Relayout, generated, is_static

_aten = torch.ops.aten
_DTYPES = (torch.bfloat16, torch.float16)
_PADDABLE = overloads(lambda op: op.paddable)

#: Elements of 16 bytes, of a cache line, and from which length of a row a whole line of zeros is cheap.
_VECTOR, _LINE, _LONG_ROW = 8, 64, 2048
#: How many times longer a product takes, by the largest power of two that divides its sizes (measured on an
#: H200: 5.4 to 7.5 for odd ones, 2.9 for even ones, 1.3 to 2.9 for multiples of four, of which ten of twelve
#: are above 1.6).
_SLOWER = {1: 5.0, 2: 2.5, 4: 1.8}
#: Operations of tensor cores in the time that memory moves a byte, and bytes in the time of one launch.
_OPERATIONS_PER_BYTE, _LAUNCH_BYTES = 200, 8 << 20


@dataclass(frozen=True)
class _Product:
    """``mm(left, right)`` or ``addmm(bias, left, right)``, and how long its sizes m, k and n become."""

    node: Node
    bias: Node | None
    left: Node
    right: Node
    sizes: tuple[int, int, int]
    padded: tuple[int, int, int]

    @staticmethod
    def of(node: Node) -> "_Product | None":
        """None for a product that is not this file's concern."""
        bias = node.args[0] if node.target is _aten.addmm.default else None
        left, right = node.args[-2:]
        given = [n for n in (bias, left, right, node) if n is not None]
        if node.kwargs or not all(isinstance(n, Node) and _is_matrix(n.meta["val"]) for n in given[-3:]):
            return None
        a, b = left.meta["val"], right.meta["val"]  # type: ignore[union-attr]
        sizes = (a.shape[0], a.shape[1], b.shape[1])
        if bias is not None and (not isinstance(bias, Node) or bias.meta["val"].shape != sizes[2:]):
            return None
        inner = {sizes[1] if a.stride(1) == 1 else sizes[0], sizes[2] if b.stride(1) == 1 else sizes[1]}
        inner.add(sizes[2])
        padded = tuple(_longer(n) if n in inner else n for n in sizes)
        return _Product(node, bias, left, right, sizes, padded)  # type: ignore[arg-type]

    @property
    def more(self) -> tuple[int, int, int]:
        """Zeros behind m, k and n."""
        m, k, n = (long - size for long, size in zip(self.padded, self.sizes, strict=True))
        return m, k, n

    def is_worth_it(self) -> bool:
        """Whether the time that aligned sizes save is more than copies take."""
        odd = [size for size, more in zip(self.sizes, self.more, strict=True) if more]
        slower = _SLOWER[min(size & -size for size in odd)]
        m, k, n = self.more
        copied = [_bytes(x) for x, grows in ((self.left, m or k), (self.right, k or n)) if grows]
        work = 2 * self.sizes[0] * self.sizes[1] * self.sizes[2] * (slower - 1)
        copies = sum(2 * b + _LAUNCH_BYTES for b in copied if b)
        return work > copies * _OPERATIONS_PER_BYTE


@dataclass
class _Padding:
    """Padded operands that later products share: (node, zeros behind its rows, behind its columns)."""

    layouts: Relayout
    made: dict[tuple[Node, int, int], Node] = field(default_factory=dict)

    def matrix(self, node: Node, rows: int, columns: int) -> Node:
        """The matrix with so many more rows and columns of zeros, contiguous along the same dim."""
        if not rows and not columns:
            return node
        value = node.meta["val"]
        if value.stride(1) != 1:  # pad what is contiguous: the transposed matrix
            source = node.args[0] if _is_transposition(node) else self._transposed(node)
            return self._transposed(self.matrix(source, columns, rows))  # type: ignore[arg-type]
        key = (node, rows, columns)
        if key not in self.made:
            self.made[key] = self._after(node, _aten.constant_pad_nd.default, [0, columns, 0, rows])
        return self.made[key]

    def vector(self, node: Node, more: int) -> Node:
        return self._after(node, _aten.constant_pad_nd.default, [0, more]) if more else node

    def _transposed(self, node: Node) -> Node:
        return self._after(node, _aten.permute.default, [1, 0])

    def _after(self, node: Node, target: torch._ops.OpOverload, argument: list[int]) -> Node:
        """Right behind the node, so that every later product may use it."""
        following = node.next
        while following.op == "placeholder":
            following = following.next
        return self.layouts.emit(following, target, node, argument, like=node)


@rewrite(
    "pad-products",
    "the sizes of a 16-bit matrix product are padded with zeros to whole vectors of the tensor cores",
)
def pad_products(layouts: Relayout) -> int:
    """Pads the products of a graph; how many.  ``layouts.spread`` must follow."""
    padding = _Padding(layouts)
    count = 0
    for product in list(_products(layouts)):
        m, k, n = product.more
        left, right = padding.matrix(product.left, m, k), padding.matrix(product.right, k, n)
        node = product.node
        if product.bias is None:
            result = layouts.emit(node, _aten.mm.default, left, right)
        else:
            bias = padding.vector(product.bias, n)
            result = layouts.emit(node, _aten.addmm.default, bias, left, right)
        for dim, (more, size) in enumerate(((m, product.sizes[0]), (n, product.sizes[2]))):
            if more:
                result = layouts.emit(node, _aten.slice.Tensor, result, dim, 0, size)
        layouts.replace(node, result)
        count += 1
    for (node, _, columns), padded in padding.made.items():
        if columns and not _bytes(node):
            _sum_padded(layouts, node, padded)
    return count


def _sum_padded(layouts: Relayout, node: Node, padded: Node) -> None:
    """Sums of columns of a matrix that is padded where it is computed, as a bias's gradient is, are taken of
    the padded one: the kernel that writes it then adds them up on the way.
    """
    columns = node.meta["val"].shape[1]
    for user in [u for u in node.users if u.target is _aten.sum.dim_IntList and not u.kwargs]:
        if [d % 2 for d in user.args[1] or ()] != [0]:  # type: ignore[union-attr,operator]
            continue
        total = layouts.emit(user, user.target, padded, *user.args[1:])
        last = total.meta["val"].dim() - 1
        layouts.replace(user, layouts.emit(user, _aten.slice.Tensor, total, last, 0, columns))


def _products(layouts: Relayout) -> Iterator[_Product]:
    for node in layouts.graph.nodes:
        if node.target in _PADDABLE:
            product = _Product.of(node)
            if product is not None and any(product.more) and product.is_worth_it():
                yield product


def _is_matrix(value: Tensor) -> bool:
    if not is_static(value) or value.dtype not in _DTYPES or value.dim() != 2:
        return False
    return 1 in value.stride() and min(value.shape) > 1


def _longer(size: int) -> int:
    """The size that is padded to: rows of many cache lines fill the last one."""
    if size % _VECTOR == 0:
        return size
    multiple = _LINE if size >= _LONG_ROW else _VECTOR
    return -(-size // multiple) * multiple


def _bytes(node: Node) -> int:
    """Of an operand that must be copied; 0 if a generated kernel writes the zeros along."""
    while is_one_view(node) and isinstance(node.args[0], Node):
        node = node.args[0]
    value = node.meta["val"]
    return 0 if generated(node) else value.numel() * value.element_size()


def _is_transposition(node: Node) -> bool:
    if node.target is _aten.t.default:
        return True
    return node.target is _aten.permute.default and list(node.args[1]) == [1, 0]  # type: ignore[arg-type]


__all__ = ["pad_products"]
