"""NVIDIA H200, 141 GB, SXM: what all rates of products are fitted to."""

from dataclasses import replace

from ..hardware import NVLINK4, Hardware
from ..rates import (
    ADDING,
    HIDING,
    MOVING,
    MOVING_AND_ISSUING,
    AttentionRates,
    BlockRates,
    CallRates,
    ChainRates,
    CollectiveRates,
    FewRowRates,
    LoopedRates,
    Margins,
    Rate,
    Rates,
    RateSource,
    Regime,
    SegmentRates,
    SmallRates,
    StreamingRates,
    WalkRates,
)

#: 1 to 4 rows with 117 MB and 1.05 GB of weights in bf16, and with 59 MB in int8.
_PACKED = RateSource("int4 weights by hand, instructions of the loop", "H200", "2026-11-28")
_CONTRACTIONS = RateSource("suite contractions: few rows", "H200", "2026-11-23")
#: 16 and 64 rows of weights that the L2 cache does not hold.
_ROWS = RateSource("suite contractions: 16 and 64 rows", "H200", "2026-11-23", 0.06)
#: Batches of small matrices and of dot products, and many rows times a small matrix (``test_small.py``).
_SMALL = RateSource("the 56 small products of test_small.py", "H200", "2026-11-23")
#: Fifteen shapes of products in bf16, each with up to eleven tiles, bare and with GELU behind them.
_TILES = RateSource("fifteen shapes of products, each with up to eleven tiles", "H200", "2026-11-23", 0.10)
#: 42 shapes of products in bf16 as they take in models: 8 to 128256 rows, 64 to 128256 summed elements.
_MODELS = RateSource("42 products of models, in the profiler", "H200", "2026-11-23", 0.10)
#: Of what 24 model runs took with a product as a kernel and as a call, all below the margin is faster.
_RUNS = RateSource("24 model runs with a product as a kernel and as a call", "H200", "2026-11-23")
#: 60 larger products with what is around them.
_PRODUCTS = RateSource("suite products", "H200", "2026-11-23")
#: 2, 4 and 8 layers of 256 columns: 262144 rows took 184, 290 and 510 us, 16384 rows 44.
_CHAINS = RateSource("2, 4 and 8 layers of 256 columns", "H200", "2026-11-23")
#: Two to four layers of at most 128 columns.
_NARROW = RateSource("layers of at most 128 columns", "H200", "2026-11-23")
#: A soft cap and a sigmoid, all blocks of keys computed, in bench/results/attention.json (commit c4bdd635):
#: 2 x 16 heads of 128 with 2048 keys took 213 and 153 us, 16 heads of 64 with 4096 keys 302 and 206.  Half of
#: the slots counted take no time: some are one instruction with others, or hide behind products.
_CASCADES = RateSource("soft caps and sigmoids of attention, 4 sizes", "H200", "2026-11-28", 0.06)
#: Forward and backward of a soft cap, a window, documents, a sigmoid and a bias, 2 x 16 heads of 128 with
#: 2048 keys, kernel by kernel in the profiler.  Passes over saved scores hide a part of the products.
_GRADIENTS = RateSource("gradients of attention, 5 forms, kernels and calls", "H200", "2026-11-28", 0.10)
#: 12 kinds of decoding of 32 heads of 128, caches of 64 to 512 MB (docs/attention.md).
_DECODING = RateSource("decoding, 12 kinds", "H200", "2026-11-28", 0.15)
#: 16 norms in front of 8 launches of one product and 8 of three: 388.7 us with them, 358.4 in the products.
_DECODING_STEP = RateSource("a decoding step of eight Llama layers", "H200", "2026-11-29")
#: What a line through caches of 134 and 537 MB leaves at none, in bench/results/attention.json (commit
#: 9a9690ae): 39.6 and 141.2 us, of which two launches are 4.
_SHORT_CACHES = RateSource("decoding, caches of 134 and 537 MB", "H200", "2026-11-29", 0.10)
#: Programs of a walk in kernels ("Walks beside two kernels" in docs/performance/history.md).
_WALKS = RateSource("walks beside two kernels", "H200", "2026-11-23")
#: One query of 32 heads over 8 with 32768 keys of 128, in bf16.
_ATTENTION = RateSource("masked decoding, one query and 32768 keys", "H100", "2026-11-28")
#: flex_attention as one kernel and as Inductor's: 30 forms and sizes (docs/attention.md).
_FLEX = RateSource("flex_attention, 30 forms and sizes", "H200", "2026-11-28")
#: Calls of attention under a mask, 2 x 16 heads of 2048 rows and keys (docs/attention.md).
_MASKED = RateSource("calls of attention under 6 masks", "H200", "2026-11-28")
_TABLES = RateSource("a bias looked up by distance, kernels and calls, 4 sizes", "H200", "2026-11-29", 0.04)
#: Products of layers of 8 and 64 experts, as kernels and calls (docs/experts.md).
_EXPERTS = RateSource("products of experts, 8 sizes", "H200", "2026-11-28", 0.06)
_BYTE_EXPERTS = RateSource("products of experts in 8 bits, 8 sizes", "H200", "2026-11-28", 0.09)
#: 96 times 33 x 33 by 33 x 8192 in bf16 took 108 us, in blocks that load elements one by one.
_UNEVEN = RateSource("one batch of products of odd rows, in the profiler", "H200", "2026-11-28")
#: Loops over the steps of recurrences, beside straight-line code.  Moving bytes takes 0.4 times as long as
#: issuing in Mamba's scan (21.5 us became 14.1), 1.9 times in wkv, 6.3 times in x * sigmoid + h * gate (14.4
#: became 15.5).
_STEPS = RateSource("three recurrences as loops", "H200", "2026-11-29")
#: Pairs of groups as one kernel and as two.
_PAIRS = RateSource("groups as one kernel and as two", "H200", "2026-11-23")


def _us(value: float, source: RateSource, each: str = "") -> Rate:
    return Rate(value, f"us/{each}" if each else "us", source)


def _part(value: float, source: RateSource) -> Rate:
    return Rate(value, "of peak", source)


def _times(value: float, source: RateSource) -> Rate:
    return Rate(value, "x", source)


#: Moving and issuing hardly overlap in a kernel that loads neighbours (steps of a stencil on 4096 x 4096: one
#: 41 us, two in a kernel 81 us, 44 and 83 by the sum), so what fusion weighs adds them up.
_STREAMING = StreamingRates(
    peak=Regime(HIDING, measured=False),
    pointwise=Regime(HIDING, bandwidth=_part(0.88, _TILES)),
    absorbed=Regime(MOVING_AND_ISSUING, bandwidth=_part(0.88, _TILES)),
    fused=Regime(MOVING_AND_ISSUING),
    rows=Regime(MOVING, measured=False),
    columns=Regime(MOVING, measured=False),
    unrolled=_times(4.0, _STEPS),
)
#: A step waits for the warps of a program, which meet to reduce its rows.
_OF_WALKS = WalkRates(walk=Regime(HIDING, step=_us(0.5, _WALKS, "step")), clearly=_part(0.7, _WALKS))
_FEW_ROWS = FewRowRates(
    kernel=Regime(HIDING, bandwidth=_part(0.92, _CONTRACTIONS), starts=_us(2.2, _CONTRACTIONS)),
    row_bandwidth=_part(0.04, _CONTRACTIONS),
    weight_slots=Rate(4.0, "slots/weight", _CONTRACTIONS),
    row_slots=Rate(3.4, "slots/weight and row", _CONTRACTIONS),
    packed_slots=Rate(2.3, "slots/weight", _PACKED),
    moved_slots=Rate(4.0, "slots/weight", _PACKED),
    looked_up_slots=Rate(5.0, "slots/weight", _PACKED),
    of_many_rows=Rate(6.0, "x", _PACKED),
    tensor_cores=Regime(HIDING, bandwidth=_part(0.963, _CONTRACTIONS), starts=_us(4.6, _CONTRACTIONS)),
    computed=Regime(
        (("memory", "steps"), ("issue", "steps"), ("cache", "steps")),
        bandwidth=_part(0.92, _CONTRACTIONS),
        cache=Rate(55, "bytes/clock", _TILES),
        step=_us(0.3, _DECODING_STEP, "row"),
        starts=_us(2.2, _CONTRACTIONS),
    ),
    call=Regime(HIDING, bandwidth=_part(0.944, _CONTRACTIONS), starts=_us(7.3, _CONTRACTIONS)),
)
_SMALL_STARTS, _CALL_STARTS = _us(2.0, _SMALL), _us(2.2, _SMALL)
_SMALL_PRODUCTS = SmallRates(
    kernel=Regime(HIDING, bandwidth=_part(0.85, _SMALL), starts=_SMALL_STARTS),
    vectors=Regime(HIDING, bandwidth=_part(0.92, _SMALL), starts=_SMALL_STARTS),
    clocks=Rate(0.36, "clocks/access", _SMALL),
    shared_clocks=Rate(0.26, "clocks/access", _SMALL),
    two_rows_clocks=Rate(0.18, "clocks/access", _SMALL),
    turned_clocks=Rate(0.024, "clocks/access and summed element", _SMALL),
    block=_us(0.6e-3, _SMALL, "matrix"),
    block_exact=_us(8.5e-8, _SMALL, "multiplication"),
    block_turned=_times(1.74, _SMALL),
    call=Regime(HIDING, bandwidth=_part(0.944, _SMALL), starts=_CALL_STARTS),
    call_halves=Regime(HIDING, bandwidth=_part(0.89, _SMALL), starts=_CALL_STARTS),
    call_vectors=Regime(HIDING, bandwidth=_part(0.72, _SMALL), starts=_CALL_STARTS),
    halves=_us(3e-3, _SMALL, "matrix"),
    matrix=_us(1.8e-3, _SMALL, "matrix"),
    multiplied=_us(7.5e-8, _SMALL, "multiplication"),
    dot=_us(0.65e-3, _SMALL, "product"),
    element=_us(5e-6, _SMALL, "element"),
    row=_us(32e-6, _SMALL, "row"),
    row_exact=_us(28e-6, _SMALL, "row"),
    row_summed=_us(2e-6, _SMALL, "row and summed element"),
)
_TILE_STARTS = _us(0.9, _TILES)
_STEP = Regime(
    (("multiply", "issue"), ("cache",), ("steps",), ("busy",)),
    multiply=_part(0.83, _TILES),
    cache=Rate(55, "bytes/clock", _TILES),
    step=_us(0.95, _TILES, "load"),
)
#: Of tiny blocks: 16 x 4096 results of 14336 elements took 41.3 us in blocks of 16 x 16, 34.3 of 16 x 32.
_OF_BLOCKS = BlockRates(
    step=_STEP,
    step_of_few_rows=replace(_STEP, multiply=_part(0.3, _TILES)),
    right_computed=_times(2.0, _TILES),
    tiny_step=_us(0.087, _TILES, "row of shared memory"),
    scalar_64=_part(0.8, _TILES),
    scalar_32=_part(0.4, _TILES),
    scalar_16=_part(0.15, _TILES),
    behind=Regime(MOVING_AND_ISSUING),
    overlapped=_times(0.6, _TILES),
    whole=Regime(
        HIDING[:-1] + (("cache",),),
        bandwidth=_part(0.88, _TILES),
        cache=Rate(36, "bytes/clock", _TILES),
        step=_us(2.0, _TILES, "load"),
        starts=_TILE_STARTS,
    ),
    kernel=Regime(HIDING, bandwidth=_part(0.88, _TILES), starts=_us(0.6, _MODELS)),
    in_turn=Regime(ADDING, multiply=_part(0.84, _TILES), step=_us(0.35, _TILES, "block")),
)
_CALLS = CallRates(
    block=Regime(ADDING, multiply=_part(0.82, _MODELS), step=_us(1.2, _MODELS, "128 x 256 results")),
    reuse=Rate(43, "multiplications/element", _MODELS),
    join=Regime(MOVING, starts=_us(2.0, _MODELS)),
    call=Regime(
        (("memory", "steps"), ("busy",)),
        bandwidth=_part(0.944, _MODELS),
        step=_us(2.3, _ROWS, "MB"),
        starts=_us(2.2, _MODELS),
    ),
    beside=_us(1.0, _MODELS, "launch"),
    uneven=_us(1.07e-6, _UNEVEN, "element"),
)
#: Of 8 and 64 experts with 4096 and 32768 tokens (docs/experts.md), kernels took 1.03 times the estimate and
#: 15 us, two products in one 1.14 to 1.24 times, calls 1.07 times and 33 us; blocks of 128 x 128 take 1.15 to
#: 1.2 times as long as those of 128 x 256.
_SEGMENTS = SegmentRates(
    kernel=_times(1.03, _EXPERTS),
    kernel_more=_us(15.0, _EXPERTS),
    pair=_times(1.18, _EXPERTS),
    narrow=_times(1.18, _EXPERTS),
    alone=_times(1.0, _EXPERTS),
    call=_times(1.07, _EXPERTS),
    call_more=_us(33.0, _EXPERTS),
    fewest=Rate(256, "rows", _EXPERTS),
    margin=_times(0.96, _EXPERTS),
)
#: Of floats of 8 bits with 8 and 64 experts and 4096 and 32768 tokens.  Kernels of 64 x 128 and 128 x 128
#: took 115 to 1414 us, calls 162 to 1219.  Where sums are added up apart, a program of 8 warps is alone on a
#: multiprocessor and waits for each of these sums, while three of 4 warps take turns.
_BYTE_SEGMENTS = SegmentRates(
    kernel=_times(1.09, _BYTE_EXPERTS),
    kernel_more=_us(8.0, _BYTE_EXPERTS),
    pair=_times(2.0, _BYTE_EXPERTS),
    narrow=_times(1.0, _BYTE_EXPERTS),
    alone=_times(1.4, _BYTE_EXPERTS),
    call=_times(1.1, _BYTE_EXPERTS),
    call_more=_us(300.0, _BYTE_EXPERTS),
    fewest=Rate(256, "rows", _BYTE_EXPERTS),
    margin=_times(0.96, _BYTE_EXPERTS),
)
_FAST_BYTE_SEGMENTS = replace(
    _BYTE_SEGMENTS, call=_times(1.26, _BYTE_EXPERTS), call_more=_us(61.0, _BYTE_EXPERTS)
)
#: Calls of a wide chain: 8 layers of 262144 rows and 256 columns took 685 us, not 525; 64-256x7-4 columns
#: 616, not 474.  Issue slots: 64-256x7-4 columns with biases and GELU took 1090 us, not 397.
_OF_CHAINS = ChainRates(
    chain=Regime(
        ADDING, multiply=_part(0.4, _NARROW), bandwidth=_part(0.5, _NARROW), starts=_us(2.0, _NARROW)
    ),
    cascade=Regime(
        ADDING, bandwidth=_part(0.88, _TILES), issue=_part(2.0, _CASCADES), multiply=_part(0.85, _CASCADES)
    ),
    few_rows=Regime(
        ADDING, bandwidth=_part(0.78, _DECODING), issue=_part(0.6, _DECODING), starts=_us(1.8, _SHORT_CACHES)
    ),
    wide=Regime(
        ADDING,
        bandwidth=_part(0.75, _CHAINS),
        issue=_part(0.43, _CHAINS),
        multiply=_part(0.66, _CHAINS),
        step=_us(1.0, _CHAINS, "product"),
        starts=_us(2.0, _CHAINS),
    ),
    gradients=Regime(
        ADDING,
        bandwidth=_part(0.88, _TILES),
        issue=_part(1.1, _GRADIENTS),
        multiply=_part(0.7, _GRADIENTS),
    ),
    saved_scores=Regime(ADDING, bandwidth=_part(1.0, _GRADIENTS), multiply=_part(1.3, _GRADIENTS)),
    call_spills=_times(1.3, _CHAINS),
    blocks_in_turn=Rate(1.5, "blocks/program", _NARROW),
    blocks_copying=Rate(0.5, "blocks/program", _CHAINS),
    for_memory=_times(1.03, _GRADIENTS),
)
#: flex_attention: 158 us beside 172 (nothing), 106 / 134 (causal), 129 / 144 (ALiBi), 114 / 137 (window of
#: 512), 320 / 322 (documents of 16384 tokens); one query 143 / 311; a bias looked up by row and key 229 /
#: 196, by distance 219 / 363; prefix 148 / 137; soft cap of heads of 256 numbers 979 / 771.  Calls: window of
#: 512 64 / 265, bools 236 / 230, of heads of 64 246 / 313, floats 230 / 244, a mask of keys 178 / 190; of 256
#: to 1024 keys 25 cases, from 52 / 54 (a mask of keys, heads of 128) to 16 / 60 (a window, heads of 64).
_LOOPED = LoopedRates(
    capability=Rate(9, "capability", _FLEX),
    fewest_rows=Rate(64, "rows", _FLEX),
    most_few=Rate(16, "rows", _FLEX),
    fewest_keys=Rate(256, "keys", _FLEX),
    narrowest=Rate(16, "numbers", _FLEX),
    widest=Rate(128, "numbers", _FLEX),
    flex=_times(1.09, _FLEX),
    flex_few=_times(2.2, _FLEX),
    flex_pairs=_times(0.86, _FLEX),
    flex_distances=_times(1.66, _TABLES),
    flex_choice=_times(0.92, _FLEX),
    call_computed=_times(4.1, _MASKED),
    call_bools=_times(0.97, _MASKED),
    narrow=Rate(64, "numbers", _MASKED),
    call_narrow=_times(1.27, _MASKED),
    call_floats=_times(1.06, _MASKED),
    call_keys=_times(1.06, _MASKED),
    short=Rate(1024, "keys", _MASKED),
    call_short=_times(1.05, _MASKED),
)
#: A bias looked up by a distance that is cut off.  Kernels, of 7.8 instructions for a look-up in SASS: 219 us
#: of 2 x 16 heads of 128 with 2048 keys, 120 of 8 x 12 heads of 64 with 1024, 129 of 32 x 12 with 512.
#: Calls, whose look-ups hide behind the mask that they make: 294 of the first, 454 of 16 heads of 64, 4096.
_OF_ATTENTION = AttentionRates(
    looped=_LOOPED,
    looking_up=Regime(ADDING, issue=_part(0.43, _TABLES), multiply=_part(0.6, _TABLES)),
    masked=Regime(ADDING, bandwidth=_part(0.85, _TABLES), multiply=_part(0.4, _TABLES)),
    score=Rate(3.0, "slots", _TABLES),
    look_up=Rate(3.0, "slots", _TABLES),
    call=Regime(HIDING),
    split=Regime(HIDING, bandwidth=_part(0.6, _ATTENTION)),
    margin=_part(0.7, _ATTENTION),
)
#: Of six products that read weights once, with something behind (suite ``contractions``), kernels took 0.87
#: to 0.97 of the library's time.  Batches with vectors: both read at the speed of memory, and estimates err
#: by 3%.
_MARGINS = Margins(
    short=_times(0.87, _RUNS),
    long=_times(0.925, _PRODUCTS),
    long_from=_us(100.0, _PRODUCTS),
    in_turn=_times(0.95, _PRODUCTS),
    weights_once=_times(0.94, _CONTRACTIONS),
    vectors=_times(0.975, _SMALL),
    vectors_from=_us(30.0, _SMALL),
    even=_times(0.99, _PRODUCTS),
    far=_times(0.5, _CONTRACTIONS),
    near=_times(0.55, _PAIRS),
)
RATES = Rates(
    _STREAMING,
    _OF_WALKS,
    _FEW_ROWS,
    _SMALL_PRODUCTS,
    _OF_BLOCKS,
    _CALLS,
    _SEGMENTS,
    _BYTE_SEGMENTS,
    _FAST_BYTE_SEGMENTS,
    _OF_CHAINS,
    _OF_ATTENTION,
    CollectiveRates(ring=Regime((("link",),))),
    _MARGINS,
)
GPU = Hardware(
    "h200",
    132,
    RATES,
    shared_bytes=227 * 1024,
    l2_bytes=50 << 20,
    bandwidth=4800,
    clock=1.7,
    tensor_tflops=990,
    link=NVLINK4,
    descriptors=True,
    words=("h200",),
    capability=(9, 0),
)
