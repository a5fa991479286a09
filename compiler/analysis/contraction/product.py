"""What a call of torch's libraries multiplies, as data."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from ...base.dataclass import dataclass
from ...base.product_forms import TENSORS, EinsumForm, product_form
from ...index import Expr, const, sym
from ...ir.contractions import ACCUMULATORS, FAST_TYPES, PRECISIONS
from ...ir.kernel import string
from ...ir.layout import TensorSpec
from ...mlir import ir
from ..kernel.segments import MOST_SEGMENTS
from .arguments import Attributes, NotAProduct, arguments_by_role, number_of, operands_of

_Kind = TypeVar("_Kind")

#: The name of a dim of size 1.
UNIT = "1"

#: The most elements of a sum of which ``unroll-reductions`` makes pointwise work by default.
SHORT = 4

#: Roles of what is multiplied, and of the result.
_MULTIPLIED = ("left", "right", "result")
#: Of each role of a factor, that of the other one.
OTHER_FACTOR = {
    "left": "right",
    "right": "left",
    "left_scale": "right_scale",
    "right_scale": "left_scale",
}


@dataclass(frozen=True)
class Product:
    """``activation(left_scale * right_scale * alpha * sum(left * right) + beta * added)``, of values of
    ``@main``.

    values:     by role (``base/product_forms.py``), the tensors that are there, left and right at least.
    dims:       by role and for ``result``, a letter for each dim of the tensor, ``1`` for dims that are not
                walked.
    specs:      by role and for ``result``, the layouts that the library gets.
    activation: "", "relu" or "gelu".
    precision:  of the products of f32, see ``fuse.dot``.
    fast_accum: whether sums of products of 8-bit floats may have fewer bits, see ``fuse.dot``.
    """

    values: Mapping[str, ir.Value]
    dims: Mapping[str, str]
    specs: Mapping[str, TensorSpec]
    result: ir.Value
    alpha: float = 1.0
    beta: float = 1.0
    activation: str = ""
    precision: str = "ieee"
    fast_accum: bool = False

    @cached_property
    def extents(self) -> dict[str, Expr]:
        """The extent of each dim: those of the result in order, then those that are summed."""
        sizes = {
            d: s
            for role in ("ends", "right", "left")
            if role in self.specs
            for d, s in zip(self.dims[role], self.specs[role].sizes, strict=True)
        }
        order = dict.fromkeys(self.dims["result"] + self.dims["left"] + self.dims["right"])
        return {d: sizes.get(d, const(1)) for d in order if d != UNIT}

    @property
    def segments(self) -> str:
        """The dim that numbers segments: of rows, each of which has a matrix of the right factor, or of what
        is summed, each of which makes a matrix of the result.  "" where there are none.
        """
        return self.dims.get("ends", "")

    @property
    def sums_segments(self) -> bool:
        """Whether what is summed comes in segments."""
        return self.segments != "" and self.segments in self.dims["result"]

    @property
    def summed(self) -> str:
        """The dims that are summed."""
        return "".join(d for d in self.extents if d not in self.dims["result"] + self.segments)

    def size(self, role: str) -> Expr:
        """How many points the dims have that only ``left`` has (rows), or only ``right`` (columns); those
        that both have and the result keeps (``batch``), or does not (``summed``); or ``segments``."""
        if role == "segments":
            return self.extents[self.segments] if self.segments else const(1)
        left, right, made = (set(self.dims[r]) - {*self.segments} for r in ("left", "right", "result"))
        both = left & right
        found = {"left": left - right, "right": right - left, "batch": both & made, "summed": both - made}[
            role
        ]
        return math.prod((e for d, e in self.extents.items() if d in found), start=const(1))

    @property
    def is_short(self) -> bool:
        """Whether it sums so few elements that it is pointwise work: ``SHORT`` at most."""
        return not self.segments and 1 <= (self.size("summed").constant or 0) <= SHORT

    @property
    def is_of_images(self) -> bool:
        """Whether it is a convolution: its rows are the points of images."""
        return self.dims["right"].rstrip(UNIT) == "nk" and self.dims["left"].startswith("bk")

    @property
    def operands(self) -> list[ir.Value]:
        """The tensors that are read, each once."""
        return list(dict.fromkeys(value for value, _ in self.reads))

    @property
    def reads(self) -> list[tuple[ir.Value, TensorSpec]]:
        """The tensors that are read, with the layouts that the library gets; each once."""
        present = [role for role in TENSORS if role in self.values]
        return list(dict.fromkeys((self.values[role], self.specs[role]) for role in present))

    @property
    def copied(self) -> list[tuple[ir.Value, TensorSpec]]:
        """Of ``reads``, the factors that the library copies first: neither the rows nor the columns of their
        matrices lie together in memory (every second column, or a row that is broadcast)."""
        if self.is_of_images:
            return []
        factors = [(self.values[role], self.specs[role]) for role in ("left", "right")]
        return [f for f in dict.fromkeys(factors) if f[1].rank > 1 and _is_copied(f[1])]

    @cached_property
    def swapped(self) -> "Product":
        """The same with its factors in the other order: its rows are the columns of this one."""
        letters = str.maketrans("mn", "nm")
        dims = {role: found.translate(letters) for role, found in _swapped(self.dims).items()}
        return replace(self, values=_swapped(self.values), dims=dims, specs=_swapped(self.specs))

    @property
    def is_turned(self) -> bool:
        """Whether the right factor does not lie along its columns; of a matrix times a vector, whether the
        matrix does not lie along the sum."""
        rows, columns = (self.size(role).constant for role in ("left", "right"))
        if rows == 1 or columns == 1:
            return rows != columns and not self.lies_along("left" if columns == 1 else "right", "k")
        return not self.lies_along("right", "n")

    def lies_along(self, role: str, dim: str) -> bool:
        """Whether elements of a factor lie side by side along a dim."""
        return self.specs[role].strides[self.dims[role].index(dim)].constant == 1

    @cached_property
    def kernel_dims(self) -> dict[str, str]:
        """The names that the dims have in a scalar kernel of the product: ``d0``, ``d1`` and so on in the
        order of ``extents``.  Dims of one point are left out."""
        walked = [d for d, extent in self.extents.items() if extent.constant != 1]
        return {d: f"d{n}" for n, d in enumerate(walked)}

    def at(self, role: str) -> tuple[Expr, ...]:
        """The coordinates at which a scalar kernel reads or stores a tensor."""
        dims, sizes = self.dims[role], self.specs[role].sizes
        walked = dims[len(dims) - len(sizes) :]
        names = [self.kernel_dims.get(d) for d in walked]
        return tuple(
            const(0) if s.constant == 1 or name is None else sym(name)
            for s, name in zip(sizes, names, strict=True)
        )

    @property
    def accumulator(self) -> str:
        """The element type in which products are added up."""
        return ACCUMULATORS[self.specs["left"].element]

    def problem(self) -> str | None:
        """What is wrong with the shapes or types, as a sentence; None where they match, or may match: torch
        has compared sizes that are symbols."""
        if self.precision != PRECISIONS[0] and self.specs["left"].element != "f32":
            return (
                f"expected fuse.precision '{self.precision}' on f32 alone, got {self.specs['left'].element}"
            )
        shapes = {role: self.specs[role].sizes for role in _MULTIPLIED}
        ranks = any(len(sizes) != len(self.dims[role]) for role, sizes in shapes.items())
        if ranks or any(_differ(*pair) for pair in self._pairs(*_MULTIPLIED)):
            form = (" x ".join(self.dims[r]) or "a number" for r in shapes)
            found = (" x ".join(map(str, s)) or "a number" for s in shapes.values())
            expected = "expected {} times {} to be {}".format(*form)
            return "{}, got {} times {} to be {}".format(expected, *found)
        if self.segments:
            sizes, element = self.specs["ends"].sizes, self.specs["ends"].element
            if element != "i32" or any(_differ(*pair) for pair in self._pairs("ends")):
                number = self.size("segments")
                got = " x ".join([*map(str, sizes), element])
                return f"expected the ends of segments to be {number} x i32, got {got}"
        if "added" in self.values:
            sizes = self.specs["added"].sizes
            if len(sizes) > len(self.dims["added"]) or any(_differ(*pair) for pair in self._pairs("added")):
                return f"expected what is added to broadcast to the result, got {' x '.join(map(str, sizes))}"
        return None

    def _pairs(self, *roles: str) -> list[tuple[Expr, Expr]]:
        """The sizes of some tensors that have to be equal to those of other tensors, each with the other.
        Dims of one point of what is added are of any size."""
        extents = self.extents | {UNIT: const(1)}
        return [
            (size, extents[d])
            for role in roles
            for d, size in zip(self.dims[role][::-1], self.specs[role].sizes[::-1], strict=False)
            if role != "added" or size.constant != 1
        ]

    def unsupported(self) -> tuple[str, str] | None:
        """Why no kernel computes the product: the name of a rule, and a sentence."""
        elsewhere = next((s.device for s in self.specs.values() if s.device is not None), None)
        if elsewhere is not None:
            return "device", f"a tensor is on {elsewhere}, not on the module's device"
        left, right, made = (self.specs[role].element for role in ("left", "right", "result"))
        if self.segments and not 1 < (self.size("segments").constant or 0) <= MOST_SEGMENTS:
            return "segments", f"kernels multiply 2 to {MOST_SEGMENTS} segments"
        if self.segments and self.extents[self.dims["left"][self.sums_segments]].constant == 1:
            return "segments", "segments of a single row"
        if left != right or left not in ACCUMULATORS or made not in _RESULTS[ACCUMULATORS[left]]:
            return "dtype", f"{left} and {right} are not multiplied to {made} by kernels"
        compared = (*_MULTIPLIED, *(role for role in ("added", "ends") if role in self.values))
        unknown = next((pair for pair in self._pairs(*compared) if pair[0] != pair[1]), None)
        if unknown is not None:
            return "sizes", f"{unknown[0]} and {unknown[1]} are not known to be equal"
        bits = int(left[1:]) if left[0] == "i" else 0
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if bits and not (math.isfinite(value) and -(1 << bits - 1) <= int(value) < 1 << bits - 1):
                return "number", f"{name} is {value}, which is no number of {left}"
        return None

    @staticmethod
    def of(call: ir.Operation, callee: ir.Operation) -> "Product | None":
        """What a call of an extern op multiplies; None where it is no product, or has arguments with which it
        is no sum of products of two tensors (a convolution that is not 1x1)."""
        try:
            return Product.read(call, callee)
        except NotAProduct:
            return None

    @staticmethod
    def read(call: ir.Operation, callee: ir.Operation) -> "Product | None":
        """What a call of an extern op multiplies; None where its op has no form.  Raises ``NotAProduct``."""
        if len(call.results) != 1:
            return None
        return _read(callee.attributes, call.operands, call.results[0])

    @staticmethod
    def of_declaration(
        attributes: Attributes, operands: Sequence[ir.Value], result: ir.Value
    ) -> "Product | None":
        """As ``of``, of the attributes of a declaration.  ``operands`` may be other values than those of its
        call, such as what these are views of.
        """
        try:
            return _read(attributes, operands, result)
        except NotAProduct:
            return None


def _read(attributes: Attributes, operands: Sequence[ir.Value], result: ir.Value) -> Product | None:
    form = product_form(string(attributes["fuse.extern"]))
    if form is None:
        return None
    given = arguments_by_role(attributes, form)
    places = operands_of(given)
    alpha, beta = (number_of(given[role]) if role in given else 1.0 for role in ("alpha", "beta"))
    assert alpha is not None and beta is not None, "arguments_by_role refuses others"
    if beta == 0:  # torch does not read what is added then, not even its NaNs
        places.pop("added", None)
    types = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
    specs = {role: TensorSpec.of(types.inputs[n]) for role, n in places.items()}
    specs["result"] = TensorSpec.of(types.results[0])
    dims = _dims(form, specs)
    activation = ""
    gelu, fast = (role in given and bool(number_of(given[role])) for role in ("gelu", "fast_accum"))
    if "gelu" in form.roles.values():
        activation = "gelu" if gelu else "relu"
    stated = "fuse.precision" in attributes
    precision = string(attributes["fuse.precision"]) if stated else PRECISIONS[0]
    values = {role: operands[n] for role, n in places.items()}
    fast = fast and specs["left"].element in FAST_TYPES
    return Product(values, dims, specs, result, alpha, beta, activation, precision, fast)


def _swapped(by_role: Mapping[str, _Kind]) -> dict[str, _Kind]:
    """By role, with what is of one factor in the place of what is of the other one."""
    return {OTHER_FACTOR.get(role, role): found for role, found in by_role.items()}


def _differ(a: Expr, b: Expr) -> bool:
    """Whether two sizes are different, whatever the symbols are."""
    return (a - b).constant not in (None, 0)


def _is_copied(spec: TensorSpec) -> bool:
    """Whether torch copies matrices with this layout before it calls cuBLAS, which takes a distance between
    rows or between columns.  False where the layout is not known."""
    (rows, columns), (down, along) = (
        [e.constant for e in found[-2:]] for found in (spec.sizes, spec.strides)
    )
    if rows is None or columns is None or down is None or along is None:
        return False
    return not ((along == 1 and down >= max(1, columns)) or (down == 1 and along >= max(1, rows)))


#: By the type of a sum, the element types that it is stored in.
_RESULTS = {"f64": ("f64",), "f32": ("f32", "f16", "bf16"), "i32": ("i32",), "i64": ("i64",)}


def _dims(form: EinsumForm, specs: Mapping[str, TensorSpec]) -> dict[str, str]:
    """The dims of each tensor and of the result.  Raises ``NotAProduct`` where a tensor has other dims than
    the form."""
    left, right, made = form.spelled(specs["left"].rank, specs["right"].rank)
    found = {"left": left, "right": right, "result": made}
    if UNIT in right and not _are_one(specs["right"].sizes, right):
        got = " x ".join(map(str, specs["right"].sizes))
        raise NotAProduct(f"expected a right factor of {' x '.join(right)}, got {got}")
    if "ends" in form.roles.values():
        _check_segments(specs, left, right)
        found["ends"] = "e"
    if "added" in specs:
        found["added"] = form.added or made
    for role, row in (("left_scale", left), ("right_scale", right)):
        if role in specs:
            name = next(name for name, its in form.roles.items() if its == role)
            if "ends" in found:
                found[role] = _scale_of_segments(
                    name, specs[role], specs[role.removesuffix("_scale")], row, made
                )
                continue
            found[role] = _scale_dims(name, specs[role], specs[role.removesuffix("_scale")], row, made)
    return found


def _check_segments(specs: Mapping[str, TensorSpec], left: str, right: str) -> None:
    """Raises ``NotAProduct`` for other products of the same op: of batches, and of columns in segments."""
    if "ends" not in specs:
        raise NotAProduct("expected segments of rows, got none")
    ranks = [specs[role].rank for role in ("left", "right", "ends")]
    if ranks != [len(left), len(right), 1]:
        raise NotAProduct(f"expected {len(left)}, {len(right)} and 1 dims of factors and ends, got {ranks}")


def _are_one(sizes: Sequence[Expr], dims: str) -> bool:
    """Whether the dims of size 1 are that."""
    return len(sizes) == len(dims) and all(
        s.constant == 1 for s, d in zip(sizes, dims, strict=True) if d == UNIT
    )


def _scale_of_segments(name: str, scale: TensorSpec, factor: TensorSpec, dims: str, made: str) -> str:
    """The dims of a scale of f32, of a product in segments: one for each row, or for each column of the
    matrix of each segment.  Raises ``NotAProduct`` for another.
    """
    kept = "".join(d for d in dims if d in made + "e")
    wanted = [size for size, d in zip(factor.sizes, dims, strict=True) if d in kept]
    if "e" in made or scale.element != "f32" or list(scale.sizes) != wanted:
        got = " x ".join([*map(str, scale.sizes), scale.element])
        raise NotAProduct(f"expected {name} to have an f32 for each row or column of a segment, got {got}")
    return kept


def _scale_dims(name: str, scale: TensorSpec, factor: TensorSpec, dims: str, made: str) -> str:
    """The dims of a scale of f32: of one element, or of one for each row or column.  Raises ``NotAProduct``
    for another."""
    if scale.element == "f32" and all(s.constant == 1 for s in scale.sizes):
        return UNIT * scale.rank
    if scale.element == "f32" and scale.rank == factor.rank:
        kept = [UNIT if s.constant == 1 else d for s, d in zip(scale.sizes, dims, strict=True)]
        pairs = zip(kept, scale.sizes, factor.sizes, strict=True)
        if all(d == UNIT or (d in made and s == f) for d, s, f in pairs):
            return "".join(kept)
    got = " x ".join([*map(str, scale.sizes), scale.element])
    raise NotAProduct(f"expected {name} to have one f32, or one for each row or column, got {got}")
