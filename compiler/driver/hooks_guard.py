"""Dynamo's guard on autograd's hooks for saved tensors is left out for a graph without gradients.

Dynamo guards every graph on the hooks of ``torch.autograd.graph.saved_tensors_hooks``, which autograd calls
with what a forward graph saves for its backward graph.  AOTAutograd asks for an inference graph where nothing
is differentiated, so nothing is saved and no hook is called, whatever the hooks are.  That nothing is
differentiated is guarded apart: by the guard on grad mode and by ``requires_grad`` of each input.

The guard is the only one of a plain graph that calls Python.  It takes a tenth of torch's part of a call.
"""

import torch

_GUARD = "AUTOGRAD_SAVED_TENSORS_HOOKS"


def leave_out_hooks_guard() -> None:
    """Leaves the guard out of the graph that Dynamo is compiling.  Call it inside the backend, for a graph
    without gradients.  Does nothing outside of a compilation.
    """
    context = torch._guards.TracingContext.try_get()
    if context is None:
        return
    guards = context.guards_context.dynamo_guards.inner
    for guard in [guard for guard in guards if guard.create_fn_name() == _GUARD]:
        guards.discard(guard)
