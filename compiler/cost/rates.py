"""Numbers that were fitted to measurements, and the regimes in which they turn work into time.

The formula of every estimate is ``clock.py``.  What differs from one kind of kernel to another is data: which
parts of the work hide behind each other, and how much of the GPU's peaks each part reaches.  A folder,
``gpus``, has a file for each GPU with such data; how well they fit is in ``docs/performance/estimates.md``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple

from ..base.dataclass import dataclass


class RateSource(NamedTuple):
    """Where numbers come from.  ``suite``: what was run, in words; ``gpu``: on which GPU; ``date``: when, as
    year-month-day.  ``error``: root mean square of the relative errors of the estimates, where it is known.
    """

    suite: str
    gpu: str
    date: str
    error: float | None = None


class Rate(float):
    """A fitted number: a float that knows its unit and where it comes from.

    ``unit``: "of peak" (a part of what the GPU's figures say), "us" (microseconds), "slots", "bytes/clock"
    (of one multiprocessor), "x" (how many times), or one of these for each of something ("us/product").
    """

    __slots__ = ("source", "unit")
    unit: str
    source: RateSource

    def __new__(cls, value: float, unit: str, source: RateSource) -> "Rate":
        rate = super().__new__(cls, value)
        rate.unit, rate.source = unit, source
        return rate

    def __getnewargs__(self) -> tuple[float, str, RateSource]:  # type: ignore[override]
        return float(self), self.unit, self.source


#: A part of the time of work: moving bytes of device memory, reading bytes of the L2 cache, issuing scalar
#: operations, multiplying on tensor cores, steps that wait for each other, what multiprocessors are busy with
#: beside these, and sending to other GPUs.
Term = Literal["memory", "cache", "issue", "multiply", "steps", "busy", "link"]
#: Groups of terms: those of a group add up, and the longest group counts.
Overlap = tuple[tuple[Term, ...], ...]

#: Of kernels that only move bytes, and that compute beside that, without hiding it.
MOVING: Overlap = (("memory",),)
MOVING_AND_ISSUING: Overlap = (("memory", "issue"),)
#: Nothing hides behind anything.
ADDING: Overlap = (("memory", "issue", "multiply", "steps", "busy"),)
#: All hides behind the longest.
HIDING: Overlap = (("memory",), ("issue",), ("multiply",), ("steps",), ("busy",), ("link",))


@dataclass(frozen=True)
class Regime:
    """How the parts of work become time in kernels of one kind.

    ``overlap``: which parts hide behind each other.  ``bandwidth``, ``issue``, ``multiply``: the part that is
    reached of the device memory's bandwidth, of the issue slots, of tensor cores' peak.  ``cache``: bytes
    that a multiprocessor reads in a clock through the L2 cache.  ``step``: microseconds of a step.
    ``starts``: microseconds beside all that, and beside a launch.  ``measured``: False where nobody has
    measured such kernels: the figures are the GPU's peaks then.
    """

    overlap: Overlap
    bandwidth: float = 1.0
    cache: float = 1.0
    issue: float = 1.0
    multiply: float = 1.0
    step: float = 0.0
    starts: float = 0.0
    measured: bool = True


@dataclass(frozen=True)
class StreamingRates:
    """Kernels that do little but move bytes.

    ``peak``: the least time of anything.  ``pointwise``: one element of each operand for an element of the
    result; ``absorbed``: the same as part of a kernel that reduces, too.  ``fused``: what fusion weighs,
    which may load neighbours or compute again.  ``rows``, ``columns``: reductions along rows and down
    columns.  ``unrolled``: how many times as long as it issues a kernel of steps has to move bytes, so that a
    loop over the steps does not pay.
    """

    peak: Regime
    pointwise: Regime
    absorbed: Regime
    fused: Regime
    rows: Regime
    columns: Regime
    unrolled: float


@dataclass(frozen=True)
class WalkRates:
    """Kernels that sum rows and columns in one walk.  ``walk``: of it.  ``clearly``: the part of the time of
    two kernels that a walk is to take where no measurement is near.
    """

    walk: Regime
    clearly: float


@dataclass(frozen=True)
class FewRowRates:
    """Products of few rows.  ``kernel``: that multiplies and adds, with one row; ``row_bandwidth``: what each
    further row costs of its bandwidth; ``weight_slots``, ``row_slots``: issue slots for each weight, and
    for each row of it.  ``tensor_cores``: whose weights tensor cores multiply as they are;
    ``packed_slots``: issue slots for each weight that they multiply as bytes hold it; ``moved_slots``: from
    which a zero point is subtracted; ``looked_up_slots``: that is looked up in a table and scaled;
    ``of_many_rows``: so many times as many for more than 16 rows.  ``computed``: as ``kernel``, whose
    programs compute the row: a step is the reductions of it, behind which they multiply.  ``call``: of a
    library.
    """

    kernel: Regime
    row_bandwidth: float
    weight_slots: float
    row_slots: float
    packed_slots: float
    moved_slots: float
    looked_up_slots: float
    of_many_rows: float
    tensor_cores: Regime
    computed: Regime
    call: Regime


@dataclass(frozen=True)
class SmallRates:
    """Small products.

    ``kernel``, ``vectors``: of any, and of batches with a vector whose rows start at multiples of 16 bytes.
    ``clocks``: in which a multiprocessor reads two factors from its cache for each 16 bytes of results: of
    any columns; ``shared_clocks``, of 4, 8, 12 or 16; ``two_rows_clocks``, where threads have two rows that
    share weights; ``turned_clocks``, more for each summed element where the right factor lies along the sum.
    ``block``: of a matrix that a program multiplies as one block; ``block_exact``, more in float32 for each
    of its multiplications; ``block_turned``, how much longer where the right factor lies along the sum.

    ``call``: of the library; ``call_halves``, ``call_vectors``, with matrices times vectors of 16 bits, and
    of float32.  What it takes at least: ``halves``, for each matrix of a batch times another one or a vector,
    of 16 bits; ``matrix``, of float32 times another one, and ``multiplied``, for each of its multiplications;
    ``dot``, for each product of vectors, or of a matrix of float32 and a vector; ``element``, for each
    element of a dot product; ``row``, for each row of a product without a batch, of 16 bits; ``row_exact``,
    ``row_summed``, of float32, and for each summed element.
    """

    kernel: Regime
    vectors: Regime
    clocks: float
    shared_clocks: float
    two_rows_clocks: float
    turned_clocks: float
    block: float
    block_exact: float
    block_turned: float
    call: Regime
    call_halves: Regime
    call_vectors: Regime
    halves: float
    matrix: float
    multiplied: float
    dot: float
    element: float
    row: float
    row_exact: float
    row_summed: float


@dataclass(frozen=True)
class BlockRates:
    """Products of blocks as kernels.

    ``step``: of a block of what is summed, on all multiprocessors: ``cache`` reads operands, a step is the
    latency of a load from the L2 cache.  ``step_of_few_rows``: of blocks of less than 64 rows.
    ``right_computed``: how much longer arithmetic on the right operand takes than on the left one: its
    results go to registers, then to shared memory, and nothing overlaps.  ``tiny_step``: of a block of at
    most 256 results, for each row of shared memory of a step.  ``scalar_64``, ``scalar_32``, ``scalar_16``:
    parts of the issue slots that products without tensor cores reach, by the extent of a block.

    ``behind``: what is computed of results and stored, which nothing hides; ``overlapped``: what the
    arithmetic of it costs where another program of the multiprocessor multiplies meanwhile.

    ``whole``: of all blocks.  ``starts`` is until the first block of a tile is there, ``step`` the latency of
    device memory under load, ``cache`` the bytes of device memory that one multiprocessor reads in a clock.
    ``kernel``: of the kernel with all that it moves.

    ``in_turn``: of a block that a program computes in turn with others; its ``step`` is between two blocks.
    """

    step: Regime
    step_of_few_rows: Regime
    right_computed: float
    tiny_step: float
    scalar_64: float
    scalar_32: float
    scalar_16: float
    behind: Regime
    overlapped: float
    whole: Regime
    kernel: Regime
    in_turn: Regime


@dataclass(frozen=True)
class CallRates:
    """Calls of the library's products.

    ``block``: of a block of the result, on all multiprocessors; a step stores 128 x 256 results.  ``reuse``:
    multiplications for each element that a program reads, from which on reading does not slow it.  ``join``:
    adds up parts of sums.  ``call``: of all; a step is a megabyte of rows that each program reads,
    where weights are read once.  ``beside``: microseconds of a kernel beside the call.  ``uneven``: of an
    element that is loaded by itself, as rows of small factors do not start at multiples of 16 bytes.
    """

    block: Regime
    reuse: float
    join: Regime
    call: Regime
    beside: float
    uneven: float


@dataclass(frozen=True)
class SegmentRates:
    """Products of rows in segments: how many times as long as one of as many blocks of rows without them, and
    what they take beside that.  ``kernel``, ``kernel_more``; ``pair``, of two products in one kernel;
    ``narrow``, of blocks of fewer sums than a thread has registers for; ``alone``, of blocks whose sums exist
    twice, so that a multiprocessor has one program; ``call``, ``call_more``, of the library.  ``fewest``:
    rows of a segment, below which no estimate is fitted.  ``margin``: the part of the library's time that a
    kernel is to take at most.
    """

    kernel: float
    kernel_more: float
    pair: float
    narrow: float
    alone: float
    call: float
    call_more: float
    fewest: float
    margin: float


@dataclass(frozen=True)
class ChainRates:
    """Products that stay in registers.

    ``chain``: of at most 128 columns.  ``cascade``: of any number, which a program goes through;
    ``few_rows``, of few rows, whose columns are split.  ``wide``: of more than 128, whose programs hold the
    columns of one product; a step makes a descriptor.  ``gradients``: of attention with its gradients, whose
    scores are computed again; ``saved_scores``, as calls that pass them on through memory; ``for_memory``:
    how many times the time of these the kernels may take, which hold less.  ``call_spills``: how many times
    its estimate a call of a wide chain takes where the result is larger than the L2 cache.
    ``blocks_in_turn``, ``blocks_copying``: the fewest blocks of rows for each program that goes through
    blocks, and for each that copies weights for every block.
    """

    chain: Regime
    cascade: Regime
    few_rows: Regime
    wide: Regime
    gradients: Regime
    saved_scores: Regime
    call_spills: float
    blocks_in_turn: float
    blocks_copying: float
    for_memory: float


@dataclass(frozen=True)
class LoopedRates:
    """Attention as one kernel that goes through blocks of its keys, on GPUs of a ``capability`` (its major
    number), of ``fewest_rows`` or at most ``most_few``, ``fewest_keys``, and heads of ``narrowest`` to
    ``widest`` numbers.  The others: how many times the time of the kernel something else takes.

    Inductor's kernel of ``flex_attention``: ``flex``; ``flex_few``, of few rows; ``flex_pairs``, where scores
    look numbers up for each row and key; ``flex_distances``, of distances alone; ``flex_choice``, under a
    choice of two masks.  The library's call: ``call_computed``, under a mask that is computed of rows and
    keys; ``call_bools``, under one of bools in memory, and ``call_narrow``, of heads of at most ``narrow``
    numbers; ``call_floats``, under one that is added; ``call_keys``, under one for all rows.  ``call_short``:
    under any mask, of at most ``short`` keys.
    """

    capability: float
    fewest_rows: float
    most_few: float
    fewest_keys: float
    narrowest: float
    widest: float
    flex: float
    flex_few: float
    flex_pairs: float
    flex_distances: float
    flex_choice: float
    call_computed: float
    call_bools: float
    narrow: float
    call_narrow: float
    call_floats: float
    call_keys: float
    short: float
    call_short: float


@dataclass(frozen=True)
class AttentionRates:
    """Attention under a mask, of few queries: ``call`` of the library, ``split`` over parts of the keys.
    ``margin``: the part of the call's time that the other form is to take at most.  ``looped``: of any number
    of queries.  ``looking_up``: kernels that look a bias up for each score; ``masked``: calls, with what
    makes their mask of that.  ``score``, ``look_up``: issue slots of a score, and of a number that is looked
    up in the cache of a multiprocessor, beside what computes its place.
    """

    looped: LoopedRates
    looking_up: Regime
    masked: Regime
    score: float
    look_up: float
    call: Regime
    split: Regime
    margin: float


@dataclass(frozen=True)
class CollectiveRates:
    """``ring``: of a collective by itself (``transfers.py``)."""

    ring: Regime


@dataclass(frozen=True)
class Margins:
    """The part of the library's time that a kernel is to take at most, as estimates err.

    ``short``: as a rule.  ``long``: where nothing is computed in front, from ``long_from`` microseconds on.
    ``in_turn``: of programs that go through blocks.  ``weights_once``: of products that read large weights
    once.  ``vectors``: of batches with vectors, from ``vectors_from`` microseconds on.  ``even``: of blocks,
    where it is known what fused.  ``far``: where nothing was fitted, but the call moves several times the
    bytes.  ``near``: a merge that is estimated to save more than this part of the groups' time is not
    measured.
    """

    short: float
    long: float
    long_from: float
    in_turn: float
    weights_once: float
    vectors: float
    vectors_from: float
    even: float
    far: float
    near: float


@dataclass(frozen=True)
class Rates:
    """All fitted numbers of a GPU.  ``byte_segments``: of floats of 8 bits, as ``segments`` of 16;
    ``fast_byte_segments``, where tensor cores may add up all of their products.
    """

    streaming: StreamingRates
    walks: WalkRates
    few_rows: FewRowRates
    small: SmallRates
    blocks: BlockRates
    calls: CallRates
    segments: SegmentRates
    byte_segments: SegmentRates
    fast_byte_segments: SegmentRates
    chains: ChainRates
    attention: AttentionRates
    collectives: CollectiveRates
    margins: Margins

    def but(self, given: Mapping[str, float]) -> "Rates":
        """The same rates with others by their dotted names: ``{"margins.long": .., "blocks.step.cache":
        ..}``.  Raises ValueError where no rate has such a name.
        """
        table: Any = self
        for name, value in given.items():
            table = _replaced(table, name.split("."), value, name)
        return table  # type: ignore[no-any-return]


def _replaced(table: Any, path: list[str], value: float, name: str) -> Any:
    first, *rest = path
    if first not in {f.name for f in fields(table)} or bool(rest) == isinstance(getattr(table, first), float):
        raise ValueError(f"no rate is named '{name}'")
    return replace(table, **{first: _replaced(getattr(table, first), rest, value, name) if rest else value})


def named_rates(table: Any, prefix: str = "") -> Iterator[tuple[str, Rate]]:
    """The dotted name of every fitted number of a table, and the number."""
    for field in fields(table):
        value = getattr(table, field.name)
        if isinstance(value, Rate):
            yield prefix + field.name, value
        elif hasattr(value, "__dataclass_fields__"):
            yield from named_rates(value, f"{prefix}{field.name}.")
