"""What AOTAutograd is told of users' Triton kernels while it traces.

Functionalization asks torch which tensors a kernel writes (``get_mutated_tensors``), and makes them results
of a functional call.  A tensor that is missing there keeps its old contents, and a call without results is
dropped.  While ``user_kernel_facts`` is entered, the answer is that of ``facts.py``, and a kernel with an
effect counts as impure, so that nothing drops it.
"""

import contextlib
import functools
import logging
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import torch
from torch._higher_order_ops import triton_kernel_wrap
from torch.fx import Graph, Node

from .facts import FactsStore, Question, known_facts

log = logging.getLogger(__name__)

#: Whether a graph is being compiled in this context: elsewhere torch answers itself.
_ENTERED: ContextVar[bool] = ContextVar("fuse_mlir_user_kernel_facts", default=False)
_STORE: ContextVar[FactsStore | None] = ContextVar("fuse_mlir_user_kernel_store", default=None)
#: The calls with an effect: by the numbers in torch's table, which begins anew at times, the kernel and its
#: constants.
_EFFECTS: dict[tuple[Any, Any], tuple[Any, Any]] = {}


@contextlib.contextmanager
def user_kernel_facts(store: FactsStore | None = None) -> Iterator[None]:
    """While this is entered, torch's questions about users' kernels are answered from their TTIR.  ``store``:
    where answers are kept on disk.
    """
    _answer()
    entered, stored = _ENTERED.set(True), _STORE.set(store)
    try:
        yield
    finally:
        _ENTERED.reset(entered)
        _STORE.reset(stored)


def has_effect(node: Node) -> bool:
    """Whether ``node`` calls a user's kernel that was found to do more than write its tensors."""
    if not (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.HigherOrderOperator)
        and node.target.name() in ("triton_kernel_wrapper_functional", "triton_kernel_wrapper_mutation")
    ):
        return False
    key = node.kwargs["kernel_idx"], node.kwargs["constant_args_idx"]
    noted = _EFFECTS.get(key)
    return noted is not None and all(a is b for a, b in zip(noted, _in_table(*key), strict=True))


def _in_table(kernel_idx: Any, constant_args_idx: Any) -> tuple[Any, Any]:
    """The kernel and its constants that torch's table has under these numbers."""
    table = triton_kernel_wrap.kernel_side_table
    return table.id_to_kernel.get(kernel_idx), table.constant_args.get(constant_args_idx)


def pin_effects(joint: Graph) -> None:
    """Tells the partitioner that kernels with an effect run once, in the forward or the backward graph, where
    they were traced.
    """
    if not _EFFECTS or not any(map(has_effect, joint.nodes)):
        return
    # torch's own tags are missing inside a user's autograd function.  Backward is traced after forward.
    begun = False
    of_tangents: set[Node] = set()
    for node in joint.nodes:
        if node.op == "placeholder":
            if "tangents" in str(node.target):
                of_tangents.add(node)
            continue
        if not of_tangents.isdisjoint(node.all_input_nodes):
            of_tangents.add(node)
        begun |= node in of_tangents or node.meta.get("partitioner_tag") == "is_backward"
        if has_effect(node):
            node.meta["partitioner_tag"] = "must_be_in_backward" if begun else "must_be_in_forward"


@functools.cache
def _answer() -> None:
    """Puts our answer before torch's."""
    ask_torch = triton_kernel_wrap.get_mutated_tensors

    @functools.wraps(ask_torch)
    def get_mutated_tensors(
        kernel_idx: int, constant_args_idx: int, kwargs: dict[str, Any], tma_descriptor_metadata: Any
    ) -> list[str]:
        if not _ENTERED.get():
            return ask_torch(kernel_idx, constant_args_idx, kwargs, tma_descriptor_metadata)  # type: ignore[no-any-return]
        kernel, constants = _in_table(kernel_idx, constant_args_idx)
        question = Question.of(kernel, {**kwargs, **constants}, tma_descriptor_metadata)
        facts = known_facts(question, _STORE.get())
        if facts is None:
            from .analysed_facts import analyse  # MLIR and Triton are loaded where facts are not known

            facts = analyse(question, _STORE.get())
        if facts.why is not None:
            log.info("A user's kernel may read and write all of its tensors: %s", facts.why)
        if facts.effect:
            _keep_effects()
            _EFFECTS[kernel_idx, constant_args_idx] = kernel, constants
        return [name for name in facts.written if isinstance(kwargs.get(name), torch.Tensor)]

    triton_kernel_wrap.get_mutated_tensors = get_mutated_tensors


@functools.cache
def _keep_effects() -> None:
    """Makes dead code elimination keep calls with an effect."""
    ask_torch = Node.is_impure

    @functools.wraps(ask_torch)
    def is_impure(self: Node, *args: Any, **kwargs: Any) -> bool:
        return ask_torch(self, *args, **kwargs) or (_ENTERED.get() and has_effect(self))

    Node.is_impure = is_impure  # type: ignore[method-assign]


__all__ = ["has_effect", "pin_effects", "user_kernel_facts"]
