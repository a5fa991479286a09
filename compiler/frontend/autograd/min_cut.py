"""How AOTAutograd's joint graph is cut into forward and backward: by torch's min-cut partitioner, after
rewrites that change what the forward graph has to save.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import torch
from torch._functorch import config as functorch_config
from torch._functorch import partitioners
from torch._functorch.partitioners import OpTypes, get_default_op_list, min_cut_rematerialization_partition
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import GraphModule, Node
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from ...base.remarks import Remarks
from ...cost.hardware import Hardware
from ...fx.roundings import round_what_decides, round_what_is_saved
from ...rewrites.chunks.chunking import Limited
from ...rewrites.joint.attention_gradients import Spelled
from ...rewrites.stages import CHUNKED, JOINT, WEIGHED, Switch
from ..user_kernels.tracing import pin_effects
from .detached import drop_detached
from .old_values import save_old_values

_aten = torch.ops.aten
#: What is computed again for nothing, as part of a kernel that reads it, and is not in torch's list: reads at
#: other places, constants, numbers of few operations; and what torch's compiler decomposes, gradients and
#: ``logsumexp``, in front of which a result need not be in memory.
_CHEAP = {
    _aten.index_select, _aten.roll, _aten.repeat, _aten.flip, _aten.tril, _aten.constant_pad_nd,
    _aten.ones_like, _aten.new_ones, _aten.new_full, _aten.fill, _aten.eye,
    _aten.floor_divide, _aten.hardswish, _aten.leaky_relu, _aten.logsumexp,
    _aten.elu_backward, _aten.hardsigmoid_backward, _aten.hardswish_backward, _aten.hardtanh_backward,
    _aten.leaky_relu_backward, _aten.softplus_backward,
}  # fmt: skip


def partition(
    joint: GraphModule,
    joint_inputs: Sequence[Any],
    *,
    on: Collection[Switch] = (Switch.ALWAYS,),
    remarks: Remarks | None = None,
    memory_limit: int | None = None,
    hardware: Hardware | None = None,
    **options: Any,
) -> tuple[GraphModule, GraphModule]:
    """The forward and the backward graph, for ``aot_autograd(partition_fn=...)``.

    First the rewrites of the stage ``JOINT`` change what the partitioner will find worth saving: each one's
    docstring says how.  on: the switches of rewrites that are on.  remarks: get what was rewritten.
    memory_limit: the option.  hardware: by which attention is weighed; None where all products are kernels.

    A random op that checkpointing runs again saves the generator's state as a tensor, on every device; by
    default torch hands generators to graphs on a GPU.
    """
    drop_detached(joint)
    remarks = Remarks() if remarks is None else remarks
    JOINT.run(joint, on, remarks)
    WEIGHED.run(joint, on, remarks, Spelled(joint, hardware))
    if memory_limit is not None:
        CHUNKED.run(joint, on, remarks, Limited(joint, memory_limit))
    round_what_decides(joint)
    pin_effects(joint.graph)
    cheap = _with_cheap(get_default_op_list())
    with (
        functorch_config.patch(graphsafe_rng_functionalization=False, cse=False),
        mock.patch.object(partitioners, "get_default_op_list", lambda: cheap),
    ):
        both = min_cut_rematerialization_partition(joint, joint_inputs, **options)
    save_old_values(both[0], options["num_fwd_outputs"])
    for graph in both:
        describe_replayed(graph)
    returned = both[0].graph.output_node().args[0]
    assert isinstance(returned, (list, tuple))
    saved = returned[options["num_fwd_outputs"] :]
    round_what_is_saved(n for n in saved if isinstance(n, Node))
    forward, backward = map(_LazyGraphModule.from_graphmodule, both)  # nobody runs the Python of these graphs
    return forward, backward


def _with_cheap(types: OpTypes) -> OpTypes:
    """torch's lists of ops by what it costs to compute them again, and ``_CHEAP``."""
    return replace(
        types,
        fusible_ops=types.fusible_ops | _CHEAP,
        recomputable_ops=types.recomputable_ops | _CHEAP,
    )


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
