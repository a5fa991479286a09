"""Launches of users' Triton kernels: tiled kernels of the module, where the compiler understands them."""

from typing import Any

import torch

from ....base.errors import UserKernelAtomics, UserKernelTuned
from ....base.launch import line_text
from ....fx.frames import user_line
from ....fx.table import lowers
from ....fx.user_kernels import (
    LAUNCHES,
    Opaque,
    UserLaunch,
    launch_of,
    launched_with,
    tuned_configurations,
)
from ...importer.call import Call
from ...importer.extern import call_extern
from ...importer.values import Tensor
from ...user_kernels.analysed_facts import unordered_in
from ...user_kernels.facts import Question
from .configurations import call_kernels, configured, tuning_key


@lowers(*(f"higher_order.{name}" for name in LAUNCHES))
def user_kernel(call: Call) -> Any:
    """A tiled kernel of the function's TTIR, or one for each configuration of an autotuner; one that is not
    understood is launched by torch, with a remark.

    The functional form writes to copies of the tensors that it names; ``mutating-calls`` has left it only
    where it could not write in place.

    Where algorithms must be deterministic, raises UserKernelTuned for several configurations, whether the
    launch plan or torch would measure them, and UserKernelAtomics for atomics whose order decides the result,
    whoever launches the kernel.
    """
    try:
        launch = launch_of(call.node)
        return _launched(call, launch)
    except Opaque as reason:
        if torch.are_deterministic_algorithms_enabled():
            _require_deterministic(call)
        _remark(call, str(reason))
        return call_extern(call.state, call.node, f"higher_order.{call.node.target.name()}", call.location)


def _require_deterministic(call: Call) -> None:
    """Raises UserKernelTuned or UserKernelAtomics for an opaque launch."""
    name, line, count = tuned_configurations(call.node)
    where = "{}:{}".format(*line)
    if count > 1:
        raise UserKernelTuned(kernel=name, where=where, count=count) from None
    found = unordered_in(Question.of(*launched_with(call.node)))
    if found is not None:
        does, at = found
        raise UserKernelAtomics(kernel=name, where=where, does=does, at=at) from None


def _launched(call: Call, launch: UserLaunch) -> dict[str, Tensor] | None:
    if launch.written is None:
        raise Opaque("what it writes is not known")
    given = {name: call.resolve(value) for name, value in launch.given.items()}
    for name, value in given.items():
        if isinstance(value, Tensor) and value.spec.device is not None:
            raise Opaque(f"its argument '{name}' is on {value.spec.device}")
    kernels = configured(call, launch, given, call.resolve)
    chosen_by = {name: given[name] for name in launch.tuned_by}
    key = tuning_key(chosen_by) if len(kernels) > 1 else []
    written = list(dict.fromkeys(launch.written))
    if call.value is not None:
        for name in written:
            given[name] = call.copied(given[name], call.value[name])
            for kernel in kernels:
                kernel.given[name] = given[name]
    old = [given[name] for name in written]
    values = call_kernels(kernels, old, key)
    new = [call.made(v, t.fake, t.spec) for v, t in zip(values, old, strict=True)]
    if call.value is not None:
        return dict(zip(written, new, strict=True))
    for before, after in zip(old, new, strict=True):
        call.state.replace(before, after)
    return None


def _remark(call: Call, reason: str) -> None:
    line = user_line(call.node)
    call.state.remarks.add(
        "import",
        "missed",
        "opaque-kernel",
        f"torch launches the user's kernel: {reason}",
        ops=(call.node.name,),
        locations=() if line is None else (line_text(line),),
    )
