"""Index algebra: the integer expressions that say where a kernel reads and writes. Start here.

A kernel iterates over named dims (`d0`, `d1`, ..), each 0 <= dim < extent. An access lists one coordinate per
dim of its tensor: an expression in dims, sizes (`s0`, `u0`, any name) and indirect operands (`i0`: an index
that was loaded). This package adds, compares, simplifies and inverts such expressions. It is pure Python and
knows nothing of MLIR; dialects carry expressions as text, and `parse(str(e)) == e`.

    >>> e = parse("(d0*s1 + d1) mod s1")
    >>> str(e)                                          # identities that need no facts are applied at once
    'd1 mod s1'
    >>> facts = Facts.of(extents={"d0": "s0", "d1": "s1"})
    >>> str(simplify(e, facts))                         # and those that need 0 <= d1 < s1 when facts say so
    'd1'

**Canonical form.** An `Expr` is a polynomial with integer coefficients over *atoms*. An atom is a symbol, a
`FloorDiv(num, den)` or a `Mod(num, den)` of canonical expressions. Equal polynomials are equal in `==` and
`hash`, so expressions serve as keys. Division is Python's: it rounds down, and `mod` is in [0, den). Every
denominator is taken to be positive, and so is each of its factors. Building a division
  - moves what den divides out of it (`(d0*64 + d1) floordiv 16` is `d0*4 + d1 floordiv 16`) and leaves a
    constant in [0, den);
  - cancels common factors (`d0*4 floordiv 8` is `d0 floordiv 2`, `d0*4 mod 8` is `(d0 mod 2)*4`);
  - makes `(x floordiv a) floordiv b` one floordiv, and drops an inner mod that den divides;
  - writes a digit as `(x floordiv a) mod b`, never as `(x mod (a*b)) floordiv a`.
Terms print dims first in natural order, then indirect operands, sizes, and the constant: `d0*s1 + d1 - 1`.

**Facts** hold ranges and prove inequalities: `False` means not proven. A dim's extent is at least 1, since a
point exists; a size is at least 0 unless `minimum` says otherwise; an indirect operand has no bounds.
**simplify** applies what facts decide, and joins `q*(x floordiv q) + x mod q` to `x`.

**solve** finds the point at which a producer stored what a consumer reads; **is_bijection** says whether two
iteration spaces are one and the same, reordered, flipped, split or merged; **linear** and **offset** serve
strides. **step_by_one** writes an offset so that Triton sees which elements are neighbours.
**reshape** gives the coordinates in a tensor at a point of another with as many elements.

| file, in the order of imports | holds                                                    |
|-------------------------------|----------------------------------------------------------|
| `index/atoms.py`              | symbols, `FloorDiv`, `Mod`, monomials, their order       |
| `index/expr.py`               | `Expr`, the canonical constructors, printing             |
| `index/parse.py`              | `parse`                                                  |
| `index/simplify.py`           | `simplify`, `linear`, `offset`                           |
| `index/neighbours.py`         | `step_by_one`                                            |
| `index/facts.py`              | `Facts`: bounds and proofs                               |
| `index/solve.py`              | `solve`, `is_bijection`                                  |
| `index/reshape.py`            | `reshape`, `contiguous_strides`, `digits`                |
| `index/from_sympy.py`         | `from_sympy`                                             |
"""

from .atoms import FloorDiv, Mod
from .expr import Expr, const, sym
from .facts import Facts
from .from_sympy import from_sympy
from .neighbours import step_by_one
from .parse import parse
from .reshape import contiguous_strides, digits, reshape
from .simplify import linear, offset, simplify
from .solve import Solution, is_bijection, solve

__all__ = [
    "Expr",
    "Facts",
    "FloorDiv",
    "Mod",
    "Solution",
    "const",
    "contiguous_strides",
    "digits",
    "from_sympy",
    "is_bijection",
    "linear",
    "offset",
    "parse",
    "reshape",
    "simplify",
    "solve",
    "step_by_one",
    "sym",
]
