"""The table `product_forms` says of torch's ops what their schemas say, and of sums what einsum computes."""

import pytest
import torch

from fuse_mlir.compiler.base.product_forms import FORMS, OPTIONAL, ROLES, TENSORS, EinsumForm, product_form
from fuse_mlir.compiler.base.products import product_op

aten = torch.ops.aten


@pytest.mark.parametrize("name", FORMS)
def test_a_form_names_the_arguments_of_its_op_in_order(name: str) -> None:
    form = FORMS[name]
    packet, _, overload = name.partition(".")
    arguments = getattr(getattr(aten, packet), overload or "default")._schema.arguments
    assert list(form.roles) == [a.name for a in arguments]
    tensors = [a.name for a in arguments if "Tensor" in str(a.type)]
    assert [n for n, role in form.roles.items() if role in (*TENSORS, "none")] == tensors
    assert [a.name for a in arguments if "Optional[Tensor]" in str(a.type)] == [
        n for n in tensors if n in OPTIONAL
    ]
    assert product_op(f"aten.{name}.default") is not None


def test_roles_are_known() -> None:
    assert {role for form in FORMS.values() for role in form.roles.values()} <= set(ROLES)


@pytest.mark.parametrize("name", ["mm", "bmm", "mv", "dot"])
def test_dims_are_those_of_einsum(name: str) -> None:
    form: EinsumForm = FORMS[name]
    extent = dict(zip("bmkn", (2, 3, 4, 5), strict=True))
    dims = form.dims.split("->")[0].split(",")
    left, right = (torch.randn([extent[d] for d in side]) for side in dims)
    torch.testing.assert_close(getattr(torch, name)(left, right), torch.einsum(form.dims, left, right))


def test_images_have_as_many_dims_as_their_operand() -> None:
    convolution = FORMS["convolution"]
    assert convolution.spelled(3) == ("bkx", "nk1", "bnx")
    assert convolution.spelled(5) == ("bkxyz", "nk111", "bnxyz")
    assert FORMS["bmm"].spelled(3) == ("bmk", "bkn", "bmn")


@pytest.mark.parametrize(
    "name", ["aten.mm.out", "aten.addmm_.default", "aten.sort.default", "prims.mm.default"]
)
def test_other_ops_have_no_form(name: str) -> None:
    assert product_form(name) is None
