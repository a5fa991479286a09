"""The differences between Triton's versions, in one table, read without importing Triton.

A row of `TRITON_DIALECTS` says how the TTIR accepted by one version is spelt; every other version-dependent
decision of the project asks `TritonDialect`, so supporting a new Triton means adding a row here and running
the compile tests.
"""

import hashlib
import re
from dataclasses import replace
from importlib import metadata

from ...base.dataclass import dataclass
from ...base.versions import distribution


class TritonVersionError(RuntimeError):
    """Triton is not installed, or it is older than every version this project supports."""


@dataclass(frozen=True)
class TritonDialect:
    """How one minor version of Triton spells the parts of TTIR that changed.

    since: the first (major, minor) version with these spellings.
    cache_policy_attr: hints are one `#tt.cache_policy` attribute; the older pair of integers is silently
    ignored there.
    tensordesc_wraps_tensor: a descriptor's parameter is a tensor type instead of a bare shape and element
    type.
    barrier_scope: `gpu.barrier` takes a `scope`; before, it is a parse error.
    overloaded_ex2: LLVM's intrinsic of `ex2` is named after its element type, `.f32`; before, `.f`.
    """

    since: tuple[int, int]
    cache_policy_attr: bool
    tensordesc_wraps_tensor: bool
    barrier_scope: bool
    overloaded_ex2: bool

    def spelled(self, text: str) -> str:
        """TTIR as this version reads it, from how ``codegen/launches.py`` prints it: descriptors wrap a
        tensor, a barrier has a scope, which is that of all lanes, LLVM's intrinsics have their newest
        names, and hints are integers.
        """
        if "gpu.barrier" in text and not self.barrier_scope:
            text = _BARRIER.sub('"gpu.barrier"() :', text)
        if "!tt.tensordesc<" in text and not self.tensordesc_wraps_tensor:
            text = _DESCRIPTOR.sub(r"!tt.tensordesc<\1>", text)
        if not self.overloaded_ex2:
            text = text.replace('"llvm.nvvm.ex2.approx.ftz.f32"', '"llvm.nvvm.ex2.approx.ftz.f"')
        return _HINTS.sub(_as_policy, text) if self.cache_policy_attr else text


# Triton's enums of the integers, which begin at 1.
_MODIFIERS = ("none", "ca", "cg", "wb", "cs", "wt", "cv")
_POLICIES = ("normal", "first", "last")


def _as_policy(hints: re.Match[str]) -> str:
    cache = _MODIFIERS[int(hints["cache"] or 1) - 1]
    evict = _POLICIES[int(hints["evict"] or hints["alone"] or 1) - 1]
    return f"cachePolicy = #tt.cache_policy<cache_modifier = {cache}, eviction_policy = evict_{evict}>"


_BARRIER = re.compile(r'"gpu\.barrier"\(\) (?:<\{.*?\}>|\{.*?\}) :')
_DESCRIPTOR = re.compile(r"!tt\.tensordesc<tensor<([^<>]*)>>")
_HINTS = re.compile(
    r"\bcache = (?P<cache>\d) : i32(?:, evict = (?P<evict>\d) : i32)?|\bevict = (?P<alone>\d) : i32"
)

_3_6 = TritonDialect(
    (3, 6),
    cache_policy_attr=False,
    tensordesc_wraps_tensor=True,
    barrier_scope=False,
    overloaded_ex2=False,
)
_3_7 = replace(_3_6, since=(3, 7), overloaded_ex2=True)
_3_8 = replace(_3_7, since=(3, 8), tensordesc_wraps_tensor=False, barrier_scope=True)
_3_9 = replace(_3_8, since=(3, 9), cache_policy_attr=True)

TRITON_DIALECTS: tuple[TritonDialect, ...] = (_3_6, _3_7, _3_8, _3_9)
"""One row per change, oldest first; a version uses the newest row that is not newer than itself."""

assert [d.since for d in TRITON_DIALECTS] == sorted({d.since for d in TRITON_DIALECTS}), (
    "rows must ascend, once each"
)


def parse_version(version: str) -> tuple[int, int]:
    """(major, minor) of a version such as "3.6.0" or "3.8.0+git1a2b"; raises TritonVersionError on anything
    else.
    """
    match = re.match(r"(\d+)\.(\d+)(?:\D|$)", version)
    if match is None:
        raise TritonVersionError(f"cannot read Triton's version '{version}': expected MAJOR.MINOR")
    return int(match[1]), int(match[2])


def triton_dialect(version: str | None = None) -> TritonDialect:
    """The row for `version`, by default the installed one. Raises TritonVersionError below the oldest row."""
    version = triton_version() if version is None else version
    key = parse_version(version)
    rows = [d for d in TRITON_DIALECTS if d.since <= key]
    if not rows:
        oldest = ".".join(map(str, TRITON_DIALECTS[0].since))
        raise TritonVersionError(f"Triton {version} is not supported: {oldest} or newer is required")
    return rows[-1]


def triton_version() -> str:
    """The installed Triton's version, from its package metadata. Raises TritonVersionError where there is
    none.
    """
    return _distribution().version


def triton_fingerprint() -> str:
    """The installed Triton's version and a digest of its RECORD, which names the hash of each installed file.

    Two builds that share a version number differ here, and nothing of Triton itself is read or imported.
    """
    distribution = _distribution()
    record = distribution.read_text("RECORD") or ""
    return f"{distribution.version}-{hashlib.sha256(record.encode()).hexdigest()[:16]}"


def _distribution() -> metadata.Distribution:
    found = distribution("Triton")
    if found is None:
        raise TritonVersionError("Triton is not installed: no distribution named triton or pytorch-triton")
    return found
