"""What attention under a mask costs for a few queries and many keys: as one call, and over parts of the keys.

A kernel of torch's library has one program for each head of a sequence and 64 or more of its queries.  Only
flash decoding, which takes no mask, gives the keys of one head to several programs.  So one query of 32 heads
keeps 32 multiprocessors busy, and each reads what it gets of the memory's bandwidth when all of them read.

Measured on an H100 in bfloat16, one query, 32 heads over 8, 32768 keys of 128: the call takes 0.633 ms, which
is 26.5 GB/s for each of its 32 programs, and 3350 GB/s over 132 multiprocessors are 25.4.  Inductor's
kernels of the spelled-out form, which read all keys and values once, take 0.090 ms.
"""

from ..base.dataclass import dataclass
from .clock import microseconds
from .hardware import Hardware
from .work import Work

#: How many kernels there are then, at most.
_KERNELS = 10

#: Keys of a part, at least.
_LEAST_KEYS = 128

#: Issue slots of an element in fewer bits: to widen it, to scale it, and to round it.
_CONVERSION = 4

#: Queries that all heads of one head of keys may have together: more fill a tile of a product.
MOST_ROWS = 64


@dataclass(frozen=True)
class MaskedAttention:
    """Sizes of attention: batch, heads of queries and of keys, queries, keys, numbers of a key, bytes of one.
    copies: how often keys and values are written before they are read, where their heads are not together.
    """

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    width: int
    itemsize: int
    copies: int = 0

    @property
    def _bytes_of_head(self) -> int:
        return 2 * self.keys * self.width * self.itemsize

    @property
    def rows(self) -> int:
        """How many rows read the same keys."""
        return self.heads // self.key_heads * self.queries

    @property
    def _bytes(self) -> int:
        """Of all keys and values."""
        return self.batch * self.key_heads * self._bytes_of_head

    def kernel_us(self, hardware: Hardware) -> float:
        """Microseconds of a kernel that reads slices of the keys and values, and of one that joins them."""
        return microseconds(Work(self._bytes, launches=2), hardware, hardware.rates.chains.few_rows)

    def call_us(self, hardware: Hardware) -> float:
        """Microseconds of the library's kernel: of one program, which reads all keys of a head, or of reading
        all of them once, as programs that run together share what the cache holds.
        """
        one_program = self._bytes_of_head * hardware.sm_count
        work = Work(max(one_program, self._bytes), launches=1)
        return microseconds(work, hardware, hardware.rates.attention.call)

    def split_us(self, hardware: Hardware) -> float:
        """Microseconds of products over parts of the keys, and of what joins the parts."""
        read = self._bytes * (1 + 2 * self.copies)
        scores = self.batch * self.heads * self.queries * self.keys * (3 * 4 + 2 * self.itemsize)
        work = Work(read + scores, launches=_KERNELS)
        return microseconds(work, hardware, hardware.rates.attention.split)

    def parts(self, hardware: Hardware) -> int:
        """Into how many parts the keys are best split; 1 where the call is as good.

        There are at least two programs for each multiprocessor, if there are keys enough.  Where each head of
        keys has one row, both products are vectors times matrices.  As kernels these fuse with the softmax
        between them, and the one that sums values needs many programs.
        """
        if self.rows > MOST_ROWS:
            return 1
        if self.split_us(hardware) > hardware.rates.attention.margin * self.call_us(hardware):
            return 1
        if self.heads == self.key_heads and self.queries == 1:
            parts = self._parts_of(hardware.weighed_grid)
            if self.batch * self.key_heads * parts >= hardware.weighed_grid:
                return parts
        return self._parts_of(hardware.full_grid)

    def _parts_of(self, programs: int) -> int:
        """The fewest parts that are so many with those of all heads, of no less than ``_LEAST_KEYS``."""
        parts = 1
        while (
            self.batch * self.key_heads * parts < programs
            and self.keys % (2 * parts) == 0
            and self.keys // (2 * parts) >= _LEAST_KEYS
        ):
            parts *= 2
        return parts


@dataclass(frozen=True)
class WidenedCache:
    """Bytes of keys and values of a few queries: ``read``, as they lie in memory, and ``made``, as a call
    takes them.  ``converted``: elements of those that lie there in fewer bits.
    """

    read: int
    made: int
    converted: int

    def kernel_us(self, hardware: Hardware) -> float:
        """Microseconds of a kernel that reads what lies there, and of one that joins its slices."""
        work = Work(self.read, slots=_CONVERSION * self.converted, launches=2)
        return microseconds(work, hardware, hardware.rates.chains.few_rows)

    def call_us(self, hardware: Hardware) -> float:
        """Microseconds of a kernel that makes what the call reads, and at least of the call."""
        made = Work(self.read, written=self.made, launches=1)
        call = microseconds(Work(self.made, launches=1), hardware, hardware.rates.attention.call)
        return call + microseconds(made, hardware, hardware.rates.streaming.pointwise)


@dataclass(frozen=True)
class LoopedAttention:
    """Attention that may be one kernel, which goes through blocks of its keys.  ``heads``: the numbers of a
    key and of a value.
    """

    rows: int
    keys: int
    heads: tuple[int, int]

    def unmeasured(self, hardware: Hardware) -> str | None:
        """Why nobody measured the kernel, or None."""
        rates = hardware.rates.attention.looped
        if hardware.capability[0] != rates.capability:
            return "it was measured on other GPUs"
        if rates.most_few < self.rows < rates.fewest_rows or self.keys < rates.fewest_keys:
            return f"{self.rows} rows and {self.keys} keys were not measured"
        if min(self.heads) < rates.narrowest or max(self.heads) > rates.widest:
            return f"heads of {self.heads[0]} and {self.heads[1]} numbers take less time in other kernels"
        return None

    def flex_times(self, hardware: Hardware, *, pairs: bool, distances: bool, choice: bool) -> float:
        """How many times the time of the kernel Inductor's kernel of ``flex_attention`` takes.  ``pairs``:
        whether scores look numbers up for each row and key; ``distances``: only numbers of distances.
        ``choice``: whether its mask is one of two.
        """
        rates = hardware.rates.attention.looped
        if pairs or (distances and (choice or self.rows <= rates.most_few)):
            return rates.flex_pairs
        if distances:
            return rates.flex_distances
        if self.rows <= rates.most_few:
            return rates.flex_few
        return rates.flex_choice if choice else rates.flex

    def call_times(self, hardware: Hardware, *, computed: bool, bools: bool, rows: int) -> float:
        """How many times the time of the kernel a call of the library takes.  ``computed``: whether the mask
        is computed of rows and keys.  ``bools``: whether it says where, else it is added.  ``rows``: how many
        it has.
        """
        rates = hardware.rates.attention.looped
        if self.keys <= rates.short:
            return rates.call_short
        if computed:
            return rates.call_computed
        if rows == 1:
            return rates.call_keys
        if not bools:
            return rates.call_floats
        return rates.call_narrow if max(self.heads) <= rates.narrow else rates.call_bools


@dataclass(frozen=True)
class LookedUpBias:
    """Attention under a bias that is looked up in a table for each row and key.  scores: of all heads and
    sequences.  made: numbers of the bias as a tensor, which sequences may share.  ops: integer operations
    that compute a place of the table.  head: numbers of a key and of a value, on average.  element: their
    type, of 16 bits.
    """

    scores: int
    made: int
    ops: int
    head: int
    element: str

    def kernel_us(self, hardware: Hardware) -> float:
        """Microseconds of a kernel that looks the bias up for each score."""
        rates = hardware.rates.attention
        slots = self.scores * (rates.score + rates.look_up + self.ops)
        work = Work(slots=slots, flops=self._flops, element=self.element, launches=1)
        return microseconds(work, hardware, hardware.rates.attention.looking_up)

    def call_us(self, hardware: Hardware) -> float:
        """Microseconds of the library's kernel that adds a mask, and of the one that makes the mask, whose
        look-ups hide behind what it writes.
        """
        slots = self.scores * hardware.rates.attention.score
        read, written = 2 * self.scores, 2 * self.made
        work = Work(read, written, slots=slots, flops=self._flops, element=self.element, launches=2)
        return microseconds(work, hardware, hardware.rates.attention.masked)

    @property
    def _flops(self) -> int:
        return 4 * self.scores * self.head


__all__ = ["MOST_ROWS", "LookedUpBias", "LoopedAttention", "MaskedAttention", "WidenedCache"]
