"""Assertions and ordered groups: imported, verified, run by the interpreter."""

import pytest
import torch
from import_one import outputs
from lowering import check, externs, kernels, lower, run, trace
from torch._inductor.fx_passes.control_dependencies import control_deps, preserve_node_ordering
from torch.utils._ordered_set import OrderedSet

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.fx.table import LOWERINGS
from fuse_mlir.compiler.runtime.errors import DeviceAssertError
from fuse_mlir.compiler.verifier.verifier import verify
from fuse_mlir.passes.graph.lower_control_deps import LowerControlDeps

aten = torch.ops.aten
TABLE = decomposition_table()
X = torch.arange(6.0).reshape(2, 3)


# --- assertions ---------------------------------------------------------------------------------------------


def asserting(x):
    aten._assert_async.msg(x.sum() > 0, "the sum is positive")
    return x + 1


def test_an_assertion_is_a_kernel():
    imported = lower(trace(asserting, [X]))
    assert externs(imported) == [] and "_assert_async" in kernels(imported)
    assert torch.equal(outputs(imported, [X]), X + 1)
    with pytest.raises(DeviceAssertError, match="the sum is positive"):
        outputs(imported, [-X])


def test_what_all_elements_are_is_asserted_of_each():
    """No reduction keeps the elements together; an empty tensor asserts nothing."""

    def function(x):
        aten._assert_async.msg((x >= 0).all(), "none is negative")
        return x + 1

    imported = lower(trace(function, [X]))
    [told] = [
        o for o in imported.module.body.operations if "device_assert" in str(o) and o.name.value != "main"
    ]
    assert "d1" in told.attributes["fuse.dims"]
    assert torch.equal(outputs(imported, [X]), X + 1)
    with pytest.raises(DeviceAssertError, match="none is negative"):
        outputs(imported, [X - 1])
    check(function, torch.empty(0, 3), table=TABLE)


def test_what_is_reduced_before_other_nodes_is_asserted_at_once():
    """Not of each element: something might be written to them in between."""

    def function(x):
        every = (x >= 0).all()
        y = x + 1
        aten._assert_async.msg(every, "none is negative")
        return y

    imported = lower(trace(function, [X]))
    assert torch.equal(outputs(imported, [X]), X + 1)
    with pytest.raises(DeviceAssertError, match="none is negative"):
        outputs(imported, [X - 1])


@pytest.mark.parametrize(
    "value", (torch.tensor(2.0), torch.tensor([True]), torch.tensor([[3]]), torch.tensor(float("nan")))
)
def test_what_is_true(value):
    def function(x):
        aten._assert_async.default(x)
        return x + 1

    check(function, value, table=TABLE)
    with pytest.raises(DeviceAssertError, match="single nonzero value"):
        run(function, torch.zeros_like(value), table=TABLE)


@pytest.mark.parametrize("make", (aten._make_dep_token.default, lambda: torch.empty(0)))
def test_functional_assertion(make):
    """Its result is the token, which has one element or, as torch 2.11 makes it, none."""

    def function(x):
        token = aten._functional_assert_async.msg(x.sum() > 0, "positive", make())
        return x + 1, token

    assert torch.equal(run(function, X)[0], X + 1)
    with pytest.raises(DeviceAssertError, match="positive"):
        run(function, -X)


def test_metadata_is_checked_at_import():
    def function(x):
        aten._assert_tensor_metadata.default(
            x, None, None, torch.float32, device=torch.device("cpu"), layout=torch.strided
        )
        return x * 2

    imported = lower(trace(function, [X]))
    assert externs(imported) == [] and len(kernels(imported)) == 1
    assert torch.equal(outputs(imported, [X]), X * 2)

    gm = trace(lambda x: function(x), [X])
    (node,) = [n for n in gm.graph.nodes if "metadata" in n.name]
    node.args = (node.args[0], [2, 4], None, torch.float32)
    node.kwargs = {}
    imported = lower(gm, strict=False)
    assert externs(imported) == ["aten._assert_tensor_metadata.default"]


# --- ordered groups -----------------------------------------------------------------------------------------


def ordered(function, inputs, pairs, *, dynamic=False):
    """The graph of ``function`` in which node ``after`` waits for node ``before``, for each pair of names."""
    gm = trace(function, inputs, dynamic=dynamic, table=TABLE)
    nodes = {n.name: n for n in gm.graph.nodes}
    dependences: dict = {}
    for before, after in pairs:
        dependences.setdefault(nodes[after], OrderedSet()).add(nodes[before])
    preserve_node_ordering(gm.graph, dependences)
    gm.graph.lint()
    gm.recompile()
    return gm


def lowered(imported):
    """The module after the groups have dissolved, verified."""
    with imported.module.context:
        LowerControlDeps().run(imported.module, imported.remarks)
    verify(imported.module)
    assert "fuse.control_deps" not in str(imported.module)
    return imported


@pytest.mark.parametrize("dynamic", (False, True))
def test_one_op_after_another(dynamic):
    gm = ordered(lambda x: (x.sin(), x.cos()), [X], [("sin", "cos")], dynamic=dynamic)
    imported = lower(gm)
    text = str(imported.module)
    assert "fuse.control_deps" in text and text.count('"fuse.after"') == 1 and externs(imported) == []
    for module in (imported, lowered(imported)):
        sine, cosine = outputs(module, [X])
        torch.testing.assert_close(sine, X.sin())
        torch.testing.assert_close(cosine, X.cos())
    assert "!fuse.token" in str(imported.module)


def test_the_group_takes_only_the_sizes_that_it_needs():
    imported = lower(
        ordered(lambda x, y: (x.sin(), y.cos()), [X, torch.ones(4)], [("sin", "cos")], dynamic=True)
    )
    (header,) = [line for line in str(imported.module).splitlines() if "fuse.control_deps" in line]
    assert header.count("fuse.sym") == 1


def test_nested_arguments():
    """A list of tensors inside the sub-graph, several of them the same node."""
    gm = ordered(lambda x, y: (x.sin(), torch.cat([x, y, x])), [X, X + 1], [("sin", "cat")])
    imported = lower(gm)
    assert torch.equal(outputs(imported, [X, X + 1])[1], torch.cat([X, X + 1, X]))
    assert torch.equal(outputs(lowered(imported), [X, X + 1])[1], torch.cat([X, X + 1, X]))


def test_several_results():
    gm = ordered(lambda x: (x.sin(), *x.max(1)), [X], [("sin", "max_1")])
    imported = lowered(lower(gm))
    assert outputs(imported, [X])[2].tolist() == [2, 2]


def test_views_and_reductions():
    gm = ordered(lambda x: (x.sin(), x.t() * 1, x.sum(0)), [X], [("sin", "t"), ("t", "sum_1")])
    imported = lower(gm)
    for module in (imported, lowered(imported)):
        _, view, total = outputs(module, [X])
        assert torch.equal(view, X.t()) and torch.equal(total, X.sum(0))


def test_extern_ops_in_a_group():
    gm = ordered(lambda x: (x.sin(), x @ x.t()), [X], [("sin", "mm")])
    imported = lower(gm)
    assert externs(imported) == ["aten.mm.default"]
    assert torch.equal(outputs(lowered(imported), [X])[1], X @ X.t())


def test_chains():
    """Each group waits for the one before."""
    gm = ordered(lambda x: (x.sin(), x.cos(), x.exp()), [X], [("sin", "cos"), ("cos", "exp"), ("sin", "exp")])
    imported = lower(gm)
    assert str(imported.module).count('"fuse.after"') == 3
    torch.testing.assert_close(outputs(lowered(imported), [X])[2], X.exp())


def test_an_unused_group_stays():
    gm = ordered(lambda x: (x.sin(), x.cos()), [X], [("sin", "cos")])
    (output,) = [n for n in gm.graph.nodes if n.op == "output"]
    output.args = ((output.args[0][0],),)
    imported = lower(gm)
    assert str(imported.module).count("call @cos_ordered") == 1


def test_assertions_in_a_group():
    gm = ordered(asserting, [X], [("sum_1", "_assert_async")])
    imported = lower(gm)
    for module in (imported, lowered(imported)):
        with pytest.raises(DeviceAssertError, match="the sum is positive"):
            outputs(module, [-X])


def test_random_draws_stay_whole():
    """A draw takes no token, so the op runs as itself, after its dependences, which are its operands."""
    gm = ordered(lambda x: (x.sin(), torch.rand(3)), [X], [("sin", "rand")])
    imported = lower(gm, strict=False)
    assert externs(imported) == ["higher_order.control_deps"]
    assert [f.reason for f in imported.fallbacks] == ["its sub-graph draws random numbers: aten.rand.default"]
    verify(imported.module)
    assert outputs(imported, [X])[1].shape == (3,)
    assert outputs(imported, [X.clone().requires_grad_()])[1].shape == (3,)


def test_locations_name_the_node():
    imported = lower(ordered(lambda x: (x.sin(), x.cos()), [X], [("sin", "cos")]))
    functions = [o.operation for o in imported.module.body.operations]
    (group,) = [f for f in functions if "fuse.control_deps" in f.attributes]
    assert '"cos"' in str(group.location)


#: Assertions and orderings: lowered, or why not.
CORE = {
    "aten._assert_async.default": False,  # decomposed
    "aten._assert_async.msg": True,
    "aten._functional_assert_async.msg": True,
    "aten._assert_tensor_metadata.default": True,
    "aten.sym_constrain_range.default": True,
    "aten.sym_constrain_range_for_size.default": True,
    "higher_order.control_deps": True,
    "aten._assert_scalar.default": True,
    "aten._functional_assert_scalar.default": True,
}


@pytest.mark.parametrize("name", CORE)
def test_every_assertion_is_accounted_for(name):
    assert (name in LOWERINGS) == CORE[name]
    assert str(control_deps) == "control_deps"
