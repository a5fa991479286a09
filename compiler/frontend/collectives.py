"""Collectives of several processes (``_c10d_functional``): what the schemas of these ops leave out.

A collective starts and returns.  Until ``wait_tensor`` is called on its result, the result is not there and
the operands are still being read, both beside the program.  ``wait_tensor`` returns the tensor that it was
given.  So the importer declares a wait as an op that writes its operand in place, gives it back, and holds
what the collective reads::

    %y = call @all_gather(%x)                        // fuse.effect: collectives keep their order
    %z = call @wait(%y, %x)        // fuse.mutated = [0], fuse.aliases = {"0" = 0}, fuse.held = [1]

No kernel writes over ``%x`` before the wait, none reads or writes the storage of ``%y`` before it, and that
storage lives as long as ``%z`` does.
"""

import operator
from collections.abc import Iterator

import torch
from torch.fx import GraphModule, Node

from .new_node import new_node

_NAMESPACE = "_c10d_functional"


def is_wait(node: Node) -> bool:
    """Whether a node waits for a collective."""
    return _name(node) == "wait_tensor"


def is_collective(node: Node) -> bool:
    """Whether a node starts a collective."""
    return _name(node) not in (None, "wait_tensor")


def read_until(wait: Node) -> list[Node]:
    """The tensors that the collective behind a wait reads until then; none where it is not in the graph."""
    started = wait.args[0]
    if isinstance(started, Node) and started.target is operator.getitem:
        started = started.args[0]
    if not isinstance(started, Node) or not is_collective(started):
        return []
    return [n for n in started.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]


def waits_for(collective: Node) -> Iterator[Node]:
    """The waits for the results of a collective."""
    for user in collective.users:
        if user.target is operator.getitem:
            yield from filter(is_wait, user.users)
        elif is_wait(user):
            yield user


def wait_for_all(gm: GraphModule) -> int:
    """Lets a graph with ``meta["val"]`` wait at once for each result of a collective for which it does not
    wait: nothing would say how long the operands have to stay as they are.  Rewrites in place; how many waits
    were added.
    """
    count = 0
    for node in list(gm.graph.nodes):
        if not is_collective(node) or any(waits_for(node)):
            continue
        several = isinstance(node.meta["val"], list | tuple)
        for result in list(node.users) if several else [node]:
            if not isinstance(result.meta.get("val"), torch.Tensor):
                continue
            with gm.graph.inserting_after(result):
                wait = new_node(
                    gm.graph,
                    torch.ops._c10d_functional.wait_tensor.default,
                    result,
                    like=result,
                    val=result.meta["val"],
                )
            result.replace_all_uses_with(wait, delete_user_cb=lambda user, wait=wait: user is not wait)
            count += 1
    if count:
        gm.recompile()
    return count


def _name(node: Node) -> str | None:
    """The op of a node, without its namespace; None outside of ``_c10d_functional``."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != _NAMESPACE:
        return None
    return target._opname
