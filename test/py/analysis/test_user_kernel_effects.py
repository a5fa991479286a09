"""What users' kernels are said to read and write, and where, beside what they do on the interpreter."""

import json
from dataclasses import fields

import newest_triton
import pytest
from user_kernel_launches import Launch, parsed
from user_kernel_models import LAUNCHES
from user_kernel_watching import elements_of, function, watched

from fuse_mlir.compiler.analysis.user_kernel.effects import PointerEffects, kernel_effects, pointer_effects
from fuse_mlir.compiler.analysis.user_kernel.maps import PointerAccess, access_maps
from fuse_mlir.compiler.report.user_kernels_text import user_kernels_text

#: Kernels with an access whose elements are not known, or depend on numbers that the program computes.
AT_UNKNOWN_ELEMENTS = {
    "atomic_counts", "cache_update", "chosen_pointer", "cross_entropy_in_place", "embedding",
    "embedding_backward", "gathered", "grouped_matmul", "matmul", "moved_rows", "packed_cumulative_sums",
    "paged_attention", "ragged", "rms_norm_backward", "segment_sums", "swapped_pointers",
}  # fmt: skip
#: Kernels with what Triton's versions spell differently.
SPELT_DIFFERENTLY = (
    "arg_max", "copied_tiles", "device_functions", "histogram", "moments", "moved_rows", "with_hints",
)  # fmt: skip


@pytest.mark.parametrize("effect", [field.name for field in fields(PointerEffects)])
def test_two_uses_have_the_effects_of_both(effect: str) -> None:
    one = PointerEffects(**{effect: True})
    assert one | PointerEffects() == PointerEffects() | one == one


@pytest.fixture(params=LAUNCHES, ids=lambda launch: launch.name)
def launch(request) -> Launch:
    return request.param


def test_each_pointer_is_read_and_written_as_expected(launch):
    ttir, module = parsed(launch)
    found = {}
    for name, effects in zip(ttir.arguments, pointer_effects(function(module)), strict=True):
        if effects is not None:
            assert not effects.unknown and not effects.escapes
            assert not effects.atomic or (effects.read and effects.written)
            found[name] = "a" if effects.atomic else "r" * effects.read + "w" * effects.written
    assert found == launch.expected()
    assert not kernel_effects(function(module)).has_effect


def test_no_kernel_touches_memory_that_it_is_not_said_to(launch):
    """An access whose index map is known is made at exactly these elements."""
    ttir, module = parsed(launch)
    touched, given = watched(launch, ttir)
    accesses = access_maps(function(module))
    claims = pointer_effects(function(module))
    for number, effects in enumerate(claims):
        for kind, claimed in (("read", "read"), ("write", "written"), ("atomic", "atomic")):
            elements = touched[number, kind]
            assert not elements or getattr(effects, claimed), f"argument {number}: {kind}"
            mine = [access for access in accesses if number in access.arguments and access.kind == kind]
            if any(access.offset is None or access.mask is None or others(access) for access in mine):
                assert launch.name in AT_UNKNOWN_ELEMENTS
                continue
            predicted = {e for access in mine for e in elements_of(access, given, launch.grid)}
            assert elements <= predicted
            assert elements == predicted or any(access.guarded for access in mine)


def test_the_newest_triton_gives_the_same():
    newest = json.loads(newest_triton.printed("user_kernel_models.py", *SPELT_DIFFERENTLY))
    installed = [launch for launch in LAUNCHES if launch.name in SPELT_DIFFERENTLY]
    assert newest == {launch.name: user_kernels_text(parsed(launch)[1]) for launch in installed}
    assert len(newest) == len(SPELT_DIFFERENTLY)


def others(access: PointerAccess) -> bool:
    """Whether a map has an integer that the program computes in a way that is not known."""
    assert access.offset is not None and access.mask is not None
    sides = [side for comparison in access.mask for side in (comparison.left, comparison.right)]
    bounds = [bound for loop in access.loops for bound in (loop.lower, loop.upper, loop.step)]
    return any(
        expression is None or any(name.startswith("x") for name in expression.symbols())
        for expression in (access.offset, *sides, *bounds)
    )
