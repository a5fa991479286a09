"""Peak memory: what a call allocates on top of what is there before it, and whether a compiler needs more."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

#: How many times as much as another backend the judged one may need.
LIMIT = 1.02
#: The smallest piece that CUDA's caching allocator takes of the device; a smaller difference is none.
SEGMENT = 2 * 2**20


def peak_beyond(call: Callable[[], Any], device: torch.device) -> int | None:
    """Bytes that are allocated at most during a call, its results too, less those allocated before; None
    where the device does not say.  Call it once before: libraries allocate workspaces that they keep.
    """
    if device.type != "cuda":
        return None
    gc.collect()
    torch.cuda.synchronize(device)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    call()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before


def peak_ratio(subject: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> float | None:
    """Peak of one backend's entry over another's, each at least a segment; 1.0 where they differ by less than
    one, None where one is unknown.
    """
    mine, theirs = ((entry or {}).get("peak") for entry in (subject, other))
    if mine is None or theirs is None:
        return None
    return 1.0 if abs(mine - theirs) < SEGMENT else max(mine, SEGMENT) / max(theirs, SEGMENT)


def peaks_above(
    records: Sequence[Mapping[str, Any]], backends: Sequence[str]
) -> Iterator[tuple[str, str, float]]:
    """(key of the record, other backend, ratio) wherever the last backend's peak is above the limit."""
    *others, subject = backends
    for record in records:
        entries = record.get("backends", {})
        for other in others:
            ratio = peak_ratio(entries.get(subject), entries.get(other))
            if ratio is not None and ratio > LIMIT:
                yield record["key"], other, ratio
