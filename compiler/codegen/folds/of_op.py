"""Which fold of tiles a reduction of the ``fuse`` dialect is."""

from ...ir.contractions import DOT, ONLINE_DOT
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
    if op.name == "fuse.reduce":
        kind = ir.StringAttr(op.attributes["kind"]).value
        return Boolean(kind) if boolean else Simple(kind)
    if op.name == "fuse.argreduce":
        kind = ir.StringAttr(op.attributes["kind"]).value
        return BooleanArgExtreme(kind) if boolean else ArgExtreme(kind)
    if op.name == "fuse.welford":
        return Welford() if len(op.operands) == 1 else WeightedWelford()
    if op.name == DOT:
        return TileProduct.of(op)
    if op.name == ONLINE_DOT:
        return OnlineProduct(TileProduct(op.results[0].type))
    if op.name == "fuse.online_expectation":
        return Expectation(tuple(ir.DenseI64ArrayAttr(op.attributes["signs"])))
    assert op.name == "fuse.online_softmax"
    return Softmax()
