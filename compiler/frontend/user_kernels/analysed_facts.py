"""What a user's Triton kernel reads and writes, by the analysis of its TTIR."""

import functools
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...analysis.user_kernel.effects import KernelEffects, kernel_effects
from ...analysis.user_kernel.unordered import unordered_atomic
from ...base.diagnostics import collecting, position_of
from ...base.pointer_effects import UNKNOWN, PointerEffects
from ...ir.context import make_context
from ...ir.dialects import tt
from ...mlir import ir
from .facts import FactsStore, Question, UserKernelFacts, known_facts, remember
from .ttir_of import KernelTtir, StaticAssertFailed, UserKernelError, ttir_of

_ANALYSIS = threading.Lock()  #: a context belongs to one thread at a time


def facts_of(kernel: Any, arguments: Mapping[str, Any], descriptors: Mapping[str, Any]) -> UserKernelFacts:
    """The facts of one launch, whose parts are those of ``Question.of``."""
    question = Question.of(kernel, arguments, descriptors)
    return known_facts(question) or analyse(question)


def analyse(question: Question, store: FactsStore | None = None) -> UserKernelFacts:
    """The facts of a launch, which are remembered.  A kernel that Triton or the analysis refuses may read and
    write all of its tensors, and has an effect.
    """
    facts = _union(question)
    remember(question, facts, store)
    return facts


def _union(question: Question) -> UserKernelFacts:
    parameters = {name: PointerEffects() for name in question.tensors}
    effect, why = False, None
    try:
        for ttir in _forms(question):
            effects = effects_of(ttir)
            if len(effects.arguments) != len(ttir.arguments):
                raise UserKernelError(f"kernel '{ttir.name}' takes other arguments than it is given")
            for name, found in zip(ttir.arguments, effects.arguments, strict=True):
                if found is not None and name in parameters:
                    parameters[name] |= found
            effect |= effects.has_effect
            why = why or effects.why
    except UserKernelError as error:
        return UserKernelFacts(dict.fromkeys(question.tensors, UNKNOWN), True, str(error))
    return UserKernelFacts(parameters, effect, why)


def _forms(question: Question) -> Iterator[KernelTtir]:
    """The TTIR with each configuration, without those that a ``tl.static_assert`` of the kernel excludes.
    Raises UserKernelError, also where it excludes all.
    """
    excluded, found = None, False
    for configured in question.configured():
        try:
            ttir = ttir_of(question.jitted, configured, capability=question.capability)
        except StaticAssertFailed as error:
            excluded = error
            continue
        found = True
        yield ttir
    if excluded is not None and not found:
        raise excluded


@functools.cache
def _context() -> ir.Context:
    """One for all kernels, since making it takes longer than analysing most of them."""
    context = make_context()
    context.allow_unregistered_dialects = True  # of ``llvm`` and others only the names of ops matter
    return context


def effects_of(ttir: KernelTtir) -> KernelEffects:
    """What a kernel's TTIR does.  Raises UserKernelError for an op that the mirror does not have."""
    with _function(ttir) as function:
        return kernel_effects(function)


def unordered_in(question: Question) -> tuple[str, str] | None:
    """What ``unordered_atomic`` says of a launch with any of its configurations, and the line of the atomic;
    None where none has one, and for a kernel that Triton refuses.
    """
    try:
        for ttir in _forms(question):
            with _function(ttir) as function:
                found = unordered_atomic(function)
                if found is not None:
                    what, op = found
                    return what, line_of(op)
    except UserKernelError:
        pass  # nothing launches it
    return None


def line_of(op: ir.Operation) -> str:
    """The file and the line of an op of a kernel."""
    position = position_of(op.location)
    return "an unknown line" if position is None else f"{position.file}:{position.line}"


@contextmanager
def _function(ttir: KernelTtir) -> Iterator[ir.Operation]:
    """The function of a kernel's TTIR, in the context of the analysis."""
    with _ANALYSIS, _context() as context:
        with collecting(context) as said:
            try:
                module = ir.Module.parse(ttir.text)
            except ir.MLIRError:
                first = next(said.items[0].lines(), "") if said.items else "its TTIR does not parse"
                raise UserKernelError(f"kernel '{ttir.name}': {first}") from None
        function = next(op for op in module.body.operations if isinstance(op, tt.Func))
        yield function.operation


__all__ = ["analyse", "effects_of", "facts_of", "line_of", "unordered_in"]
