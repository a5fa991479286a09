"""Torch ops as sums of products: which of their arguments is a factor, which is added, which scales.

    result = activation(left_scale * right_scale * alpha * sum(left * right) + beta * added)

``FORMS`` says it of each op, in torch's order of the arguments and by torch's names.  To add an op, add a
line; ``base/products.py`` has what else is known of such ops.
"""

from collections.abc import Mapping
from types import MappingProxyType

from .dataclass import dataclass

#: Roles of tensors, in the order in which a kernel takes them.
TENSORS = ("added", "left", "right", "left_scale", "right_scale", "ends")

#: Names of tensors that a call may leave out.
OPTIONAL = frozenset({"bias", "scale_result", "offs"})

#: All roles.  ``alpha`` and ``beta`` are numbers, 1 where they are missing.  ``gelu`` says of an op that
#: computes an activation which: GELU where it is true, otherwise ReLU.  ``fast_accum`` says whether sums may
#: have fewer bits, see ``fuse.dot``.  ``ends`` are those of segments of rows, such as the tokens of each
#: expert: the right factor has a matrix for each segment.  ``free`` changes nothing about the numbers, or
#: nothing that the type of the result does not say.  An argument of the others must have the value that is
#: their name; with any other value the op has no form.
ROLES = (*TENSORS, "alpha", "beta", "gelu", "fast_accum", "free", "none", "false", "zeros", "ones", "one")


@dataclass(frozen=True)
class EinsumForm:
    """An op of torch's ``aten``.

    dims:  of left, right and the result, as einsum writes them.  Dims of left and right that the result lacks
           are summed, but for that of ``ends``.  A dot stands for the dims of an image (one to three), ``1``
           for as many dims of size 1.  A bar separates forms that differ in how many dims the right one has.
    added: the dims of ``added``; "" where it broadcasts to the result as torch's operands do.
    roles: by the name of each argument, in order.
    """

    dims: str
    roles: Mapping[str, str]
    added: str = ""

    def spelled(self, rank: int, right_rank: int | None = None) -> tuple[str, str, str]:
        """The dims of left, right and the result, for a left operand of so many dims; of several forms, those
        with so many of the right one.
        """
        image = "xyz"[: max(0, rank - 2)]
        forms = [
            [part.replace(".", image).replace("1", "1" * len(image)) for part in parts]
            for parts in (dims.replace("->", ",").split(",") for dims in self.dims.split("|"))
        ]
        fitting = [form for form in forms if len(form[1]) == right_rank]
        left, right, result = (fitting or forms)[0]
        return left, right, result


def _form(dims: str, added: str = "", **roles: str) -> EinsumForm:
    assert not set(roles.values()) - set(ROLES), f"roles are {', '.join(ROLES)}"
    return EinsumForm(dims, MappingProxyType(roles), added)


_MATRICES, _BATCHES = "mk,kn->mn", "bmk,bkn->bmn"
_SCALED = {"beta": "beta", "alpha": "alpha"}

#: By the op's name in ``base/products.py``, with an overload other than ``default`` behind a dot.
FORMS: Mapping[str, EinsumForm] = MappingProxyType(
    {
        "mm": _form(_MATRICES, self="left", mat2="right"),
        "bmm": _form(_BATCHES, self="left", mat2="right"),
        "addmm": _form(_MATRICES, self="added", mat1="left", mat2="right", **_SCALED),
        "baddbmm": _form(_BATCHES, self="added", batch1="left", batch2="right", **_SCALED),
        "mm.dtype": _form(_MATRICES, self="left", mat2="right", out_dtype="free"),
        "bmm.dtype": _form(_BATCHES, self="left", mat2="right", out_dtype="free"),
        "addmm.dtype": _form(
            _MATRICES, self="added", mat1="left", mat2="right", out_dtype="free", **_SCALED
        ),
        "addbmm": _form("bmk,bkn->mn", self="added", batch1="left", batch2="right", **_SCALED),
        "mv": _form("mk,k->m", self="left", vec="right"),
        "addmv": _form("mk,k->m", self="added", mat="left", vec="right", **_SCALED),
        "dot": _form("k,k->", self="left", tensor="right"),
        "_grouped_mm": _form(
            "mk,ekn->mn|mt,tn->emn", self="left", mat2="right", offs="ends", bias="none", out_dtype="free"
        ),
        "_scaled_grouped_mm": _form(
            "mk,ekn->mn|mt,tn->emn", self="left", mat2="right", scale_a="left_scale", scale_b="right_scale",
            offs="ends", bias="none", scale_result="none", out_dtype="free", use_fast_accum="fast_accum",
        ),
        "_int_mm": _form(_MATRICES, self="left", mat2="right"),
        "_addmm_activation": _form(
            _MATRICES, self="added", mat1="left", mat2="right", **_SCALED, use_gelu="gelu"
        ),
        "_scaled_mm": _form(
            _MATRICES, self="left", mat2="right", scale_a="left_scale", scale_b="right_scale", bias="added",
            scale_result="none", out_dtype="free", use_fast_accum="fast_accum",
        ),
        "convolution": _form(
            "bk.,nk1->bn.", "n", input="left", weight="right", bias="added", stride="ones", padding="zeros",
            dilation="free", transposed="false", output_padding="free", groups="one",
        ),
    }
)  # fmt: skip


def product_form(name: str) -> EinsumForm | None:
    """The form of an op as the IR names it (``aten.mm.default``); None for other ops and overloads."""
    space, _, rest = name.partition(".")
    op, _, overload = rest.partition(".")
    return FORMS.get(op if overload == "default" else f"{op}.{overload}") if space == "aten" else None
