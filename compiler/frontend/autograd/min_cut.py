"""How AOTAutograd's joint graph is cut into forward and backward: torch's min-cut partitioner, after rewrites
that change what is worth keeping.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch._functorch import config as functorch_config
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import GraphModule, Node
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from ...base.remarks import Remarks
from ...fx.roundings import round_what_decides, round_what_is_saved
from ...rewrites.graph.gathers import sink_gathers
from ...rewrites.graph.product_epilogues import fuse_epilogues
from ...rewrites.graph.repeats import repeat_elements
from ...rewrites.joint.equal_nodes import merge_equal_nodes
from ...rewrites.joint.pool_offsets import save_offsets
from ...rewrites.joint.relu_masks import recompute_relu_masks
from ...rewrites.joint.saved_shapes import save_one_shape
from ...rewrites.rewriting import Rewriting


def partition(
    joint: GraphModule,
    joint_inputs: Sequence[Any],
    *,
    epilogues: bool = False,
    remarks: Remarks | None = None,
    **options: Any,
) -> tuple[GraphModule, GraphModule]:
    """The forward and the backward graph, for ``aot_autograd(partition_fn=...)``.

    Gathers move first: what a gather reads has to be in memory, so the partitioner keeps all of it for the
    backward graph.  Of cross-entropy that is the log-softmax of every class in float32; where the gather
    reads the logits, these and two numbers a row are kept.  ``detach`` means nothing once gradients are part
    of the graph, but the partitioner takes it for an op that reads memory, and keeps its operand.  What is
    read in two shapes is read in one (``saved_shapes.py``), max pooling keeps a byte for each result
    (``pool_offsets.py``), masks of ReLUs are computed again (``relu_masks.py``), and upsampling is a view,
    so that its gradient is no scatter (``repeats.py``).  ``epilogues``: a
    product computes the ReLU behind it, so that the ReLU is kept and not the product.  What is computed twice
    is computed once (``equal_nodes.py``).  ``remarks`` get what was rewritten.

    A random op that checkpointing runs again saves the generator's state as a tensor on every device; by
    default torch hands generators to graphs on a GPU.
    """
    drop_detached(joint)
    rewriting = Rewriting(joint, Remarks() if remarks is None else remarks)
    rewriting.run(repeat_elements)
    rewriting.run(sink_gathers)
    rewriting.run(save_offsets, joint.graph)
    rewriting.run(recompute_relu_masks)
    if epilogues:
        rewriting.run(fuse_epilogues)
    rewriting.run(save_one_shape, joint.graph)
    joint.graph.eliminate_dead_code()
    merge_equal_nodes(joint.graph)
    round_what_decides(joint)
    with functorch_config.patch(graphsafe_rng_functionalization=False, cse=False):
        both = min_cut_rematerialization_partition(joint, joint_inputs, **options)
    for graph in both:
        describe_replayed(graph)
    returned = both[0].graph.output_node().args[0]
    assert isinstance(returned, (list, tuple))
    saved = returned[options["num_fwd_outputs"] :]
    round_what_is_saved(n for n in saved if isinstance(n, Node))
    forward, backward = map(_LazyGraphModule.from_graphmodule, both)  # nobody runs the Python of these graphs
    return forward, backward


def describe_replayed(graph: GraphModule) -> None:
    """Gives ops that save or restore a generator's state the metadata that the partitioner leaves out."""
    for saves, target in ((True, run_and_save_rng_state), (False, run_with_rng_state)):
        for node in graph.graph.find_nodes(op="call_function", target=target):
            op, *given = node.args if saves else node.args[1:]
            args, kwargs = map_arg((tuple(given), node.kwargs), lambda n: n.meta["val"])
            fakes = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, FakeTensor)]
            state = next(u for u in node.users if u.args[1] == 0) if saves else node.args[0]
            with (fakes or [state.meta["val"]])[0].fake_mode:
                value = op(*args, **kwargs)
            node.meta["val"] = (state.meta["val"], value) if saves else value


def drop_detached(joint: GraphModule) -> None:
    for node in joint.graph.find_nodes(op="call_function", target=torch.ops.aten.detach.default):
        node.replace_all_uses_with(node.args[0])
        joint.graph.erase_node(node)
