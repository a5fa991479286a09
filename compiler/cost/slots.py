"""Issue slots of scalar operations: how many cycles of a lane each takes.

Two counts exist, which were fitted apart and still disagree about a division: ``slots`` counts what a kernel
issues in all, where fusion and tiling weigh computing again against moving; ``slots_beside_products`` counts
what is computed in front of products and behind them, and leaves out guards and indices.
"""

#: Scalar operations that cost more than one issue slot, in slots (a special-function unit runs at a quarter
#: of the rate).
_HEAVY = 8
_HEAVY_PREFIXES = ("math.", "fuse.libm")
LOAD = 4  #: of a load, with its address: where a kernel loads more often than it has to
_RAND = 48  #: ten Philox rounds
_LIGHT_MATH = frozenset({"math.absf", "math.absi", "math.fma", "math.floor", "math.ceil", "math.copysign"})
FREE = frozenset({"arith.constant", "func.return", "fuse.load", "fuse.store"})

#: Operations that a function (exp, tanh), a quotient, or an integer that becomes a float takes as long as;
#: erf is a polynomial.  Measured in front of and behind products.
_BESIDE_PRODUCTS = {"math": 8, "math.erf": 14, "arith.divf": 8, "arith.sitofp": 7, "arith.uitofp": 7}
#: The activations that the library computes of a result, as a wide chain computes them between its products.
ACTIVATIONS = {"": 0, "relu": 0, "gelu": 18}


def slots(name: str) -> int:
    """Issue slots of one scalar operation, by its name."""
    if name in FREE:
        return 0
    if name == "fuse.rand":
        return _RAND
    return _HEAVY if name.startswith(_HEAVY_PREFIXES) and name not in _LIGHT_MATH else 1


def slots_beside_products(name: str) -> int:
    """The same of an operation on floats beside a product; 0 of one that computes nothing."""
    if not name.startswith(("arith.", "math.")) or name == "arith.constant":
        return 0
    return _BESIDE_PRODUCTS.get(name, _BESIDE_PRODUCTS.get(name.partition(".")[0], 1))
