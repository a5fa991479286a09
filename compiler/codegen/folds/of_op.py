"""Which fold of tiles a reduction of the ``fuse`` dialect is."""

from ...ir.dialects import fuse
from ...mlir import ir
from .expectation import Expectation
from .fold import Fold
from .online import Softmax, Welford
from .online_product import OnlineProduct
from .product import TileProduct
from .simple import ArgExtreme, Boolean, BooleanArgExtreme, Simple
from .weighted import WeightedWelford


def fold_of(op: ir.Operation) -> Fold:
    """The fold of a reduction of the ``fuse`` dialect."""
    boolean = len(op.operands) > 0 and str(op.operands[0].type) == "i1"
    if isinstance(op, fuse.Reduce):
        kind = ir.StringAttr(op.attributes["kind"]).value
        return Boolean(kind) if boolean else Simple(kind)
    if isinstance(op, fuse.ArgReduce):
        kind = ir.StringAttr(op.attributes["kind"]).value
        return BooleanArgExtreme(kind) if boolean else ArgExtreme(kind)
    if isinstance(op, fuse.Welford):
        return Welford() if len(op.operands) == 1 else WeightedWelford()
    if isinstance(op, fuse.Dot):
        return TileProduct.of(op)
    if isinstance(op, fuse.OnlineDot):
        return OnlineProduct(TileProduct(op.results[0].type))
    if isinstance(op, fuse.OnlineExpectation):
        return Expectation(tuple(ir.DenseI64ArrayAttr(op.attributes["signs"])))
    assert isinstance(op, fuse.OnlineSoftmax)
    return Softmax()
