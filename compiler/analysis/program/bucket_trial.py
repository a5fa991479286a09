"""Which buckets a schedule is better with.

A bucket is tried with those that were accepted before it.  By the list schedule of the whole program, waiting
for it may cost the device no more than its starts cost the host one by one.  The memory of the program, with
the buckets in it, has a limit above the peaks that it has without.  Of a bucket that is refused, the halves
are tried.
"""

from collections.abc import Sequence

from .buckets import Buckets
from .overlap import Overlap

#: Why a bucket is refused.
REFUSED = {
    "memory": "buckets would raise the peak of memory",
    "slower": "calls would wait longer for a bucket than its starts cost one by one",
}


class BucketTrial:
    """accepted: the buckets, the ``given`` ones first.  refused: how many collectives stay by themselves, by
    the key of ``REFUSED``.  ``percent``: of memory above the peaks.
    """

    def __init__(self, buckets: Buckets, given: Sequence[Sequence[int]], percent: int) -> None:
        self.buckets = buckets
        self.accepted = [list(bucket) for bucket in given]
        self.refused: dict[str, int] = {}
        orders = buckets.overlap(self.accepted)
        assert orders is not None, "the given buckets have an order"
        self.limits = orders.limits(percent)
        self.best: Overlap = orders.best(self.limits)

    def add(self, bucket: list[int]) -> None:
        """Accepts a bucket, or its parts, where the schedule is better with them."""
        reason = self._refused(bucket)
        if reason is None:
            return
        half = len(bucket) // 2
        parts = [part for part in (bucket[:half], bucket[half:]) if len(part) > 1]
        for part in parts:
            self.add(part)
        alone = len(bucket) - sum(map(len, parts))
        if alone:
            self.refused[reason] = self.refused.get(reason, 0) + alone

    def _refused(self, bucket: list[int]) -> str | None:
        """Why a bucket is not accepted."""
        tried = [*self.accepted, bucket]
        orders = self.buckets.overlap(tried)
        if orders is None:
            return "slower"  # it would have to start before what it follows
        if any(peak > limit for peak, limit in zip(orders.given.peaks, self.limits, strict=True)):
            return "memory"
        best = orders.best(self.limits)
        if best.timeline.seconds >= self.best.timeline.seconds + self.buckets.saved(bucket):
            return "slower"
        self.accepted, self.best = tried, best
        return None
