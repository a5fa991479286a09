"""Which rewrites of FX graphs run: in which order, for what reason, and what switches each one on.

A line for each, as ``passes/pipeline.py`` has one for each pass; ``docs/rewrites.md`` is generated from these
tables and from the docstrings of the rewrites.
"""

from collections.abc import Collection
from enum import Enum
from typing import Any

from torch.fx import GraphModule

from ..base.dataclass import dataclass
from ..base.options import Options
from ..base.remarks import Remarks
from .attention.attention_biases import keep_biases
from .attention.attention_calls import spell_calls
from .attention.attention_differences import split_differences
from .captured.attention import fuse_attention
from .captured.attention_decoding import keep_decoding
from .captured.attention_layout import lay_out_queries
from .captured.attention_mask_layout import lay_out_masks
from .captured.attention_masks import simplify_masks
from .captured.attention_splits import split_keys
from .captured.batch_norms import keep_batch_norms
from .captured.idle_dropouts import drop_idle_dropouts
from .captured.masked_writes import write_where_masks_hold
from .captured.overlapping_lists import update_one_by_one
from .captured.scan_gradients import scan_backwards
from .captured.softmax_sinks import spell_sinks
from .captured.written_strides import keep_strides_of_updates
from .captured.written_views import write_to_memory
from .chunks.column_chunks import chunk_columns
from .chunks.row_chunks import chunk_rows
from .chunks.running_sums import slice_running_sums
from .complex.complex_pairs import compute_pairs
from .graph.collective_waits import wait_for_all
from .graph.effect_tokens import drop_tokens
from .graph.embedding_gradients import compact_embedding_gradients
from .graph.flex_attention import compile_flex_attention
from .graph.flex_gradients import spell_flex_gradients
from .graph.flex_kernels import spell_flex_attention
from .graph.gathers import sink_gathers
from .graph.mutating_calls import write_calls_in_place
from .graph.one_hot import sum_one_hots
from .graph.repeats import repeat_elements
from .graph.scattered_sums import scatter_into_one_table
from .graph.separate_waits import separate_waits
from .graph.wide_sums import add_in_float32
from .joint.attention_gradients import recompute_scores
from .joint.compared_extremes import compare_what_is_saved
from .joint.equal_nodes import merge_equal_nodes
from .joint.pool_offsets import save_offsets
from .joint.product_epilogues import fuse_epilogues
from .joint.relu_masks import recompute_relu_masks
from .joint.saved_shapes import save_one_shape
from .joint.split_sinks import split_sinks
from .layouts.convolution_biases import split_bias
from .layouts.convolutions import lay_out_convolutions
from .layouts.copies import keep_strides_of_copies
from .layouts.gaps import close_gaps
from .layouts.pad_products import pad_products
from .layouts.patches import multiply_patches
from .layouts.stems import multiply_columns
from .layouts.stencils import generate_stencils
from .rewriting import Rewrite, Rewriting


class Switch(Enum):
    """What decides whether a rewrite runs at all; the value is what ``docs/rewrites.md`` says of it."""

    ALWAYS = "always on"
    ATTENTION = "option `attention`"
    CASCADES = "option `attention`, where `products` is `auto` and `rounding` is `float32`"
    GRADIENTS = "where `products` is `generated`, or `auto` on a GPU, and `rounding` is `float32`"
    INFERENCE = "where no gradients are asked for"
    EPILOGUES = "option `epilogues`"
    LAYOUTS = "option `layouts`"
    STEMS = "option `layouts`, unless `products` is `library`"
    FLEX = "option `flex_attention`"
    FLEX_KERNELS = "option `flex_attention`, where `rounding` is `float32`"
    MEMORY = "option `memory_limit`"


def switched_on(options: Options, *, kind: str, on_gpu: bool) -> frozenset[Switch]:
    """The switches that are on for a graph.  ``kind``: "inference", "forward" or "backward"."""
    library = options.library_epilogues(on_gpu)
    holds = {
        Switch.ALWAYS: True,
        Switch.ATTENTION: options.attention,
        Switch.CASCADES: options.attention and options.products == "auto" and options.rounding == "float32",
        Switch.GRADIENTS: (options.products == "generated" or (options.products == "auto" and on_gpu))
        and options.rounding == "float32",
        Switch.INFERENCE: kind == "inference",
        Switch.EPILOGUES: library,
        Switch.LAYOUTS: options.free_layouts(on_gpu),
        Switch.STEMS: options.free_layouts(on_gpu) and options.products != "library",
        Switch.FLEX: options.inductor_flex_attention(on_gpu),
        Switch.FLEX_KERNELS: options.own_flex_attention(on_gpu),
        Switch.MEMORY: options.memory_limit is not None,
    }
    return frozenset(switch for switch, on in holds.items() if on)


@dataclass(frozen=True)
class Step:
    """A rewrite that runs where its switch is on, and the reason why it runs there."""

    rewrite: Rewrite[Any]
    switch: Switch
    reason: str


@dataclass(frozen=True)
class Stage:
    """Rewrites of one graph, in the order in which they run.  ``graph``: which graph that is."""

    name: str
    graph: str
    steps: tuple[Step, ...]

    def run(self, gm: GraphModule, on: Collection[Switch], remarks: Remarks, subject: Any = None) -> None:
        """Runs the rewrites whose switch is in ``on``; each that fires leaves a remark.  ``subject``: what
        the rewrites take, by default ``gm``.
        """
        rewriting = Rewriting(gm, remarks)
        for step in self.steps:
            if step.switch in on:
                rewriting.run(step.rewrite, gm if subject is None else subject)


CAPTURED = Stage(
    "captured",
    "The graph that Dynamo captured, before AOTAutograd traces it (`driver/captured_compilation.py`).",
    (
        Step(drop_idle_dropouts, Switch.ALWAYS, "first: all that follows asks what shares memory"),
        Step(update_one_by_one, Switch.ALWAYS, "what follows sees each write on its own"),
        Step(write_to_memory, Switch.ALWAYS, "what follows meets fewer views that are written"),
        Step(spell_sinks, Switch.INFERENCE, "before attention is looked for, which has no sinks"),
        Step(split_differences, Switch.ATTENTION, "what follows looks for products of one softmax"),
        Step(keep_decoding, Switch.CASCADES, "what `attention` would make a call of"),
        Step(keep_biases, Switch.CASCADES, "the same of more queries"),
        Step(fuse_attention, Switch.ATTENTION, "makes the op that the next three change"),
        Step(lay_out_queries, Switch.ATTENTION, "the strides of the query are those of the result"),
        Step(simplify_masks, Switch.ATTENTION, "a mask that is gone needs no layout"),
        Step(
            spell_calls,
            Switch.CASCADES,
            "of masks that are left; the next splits keys that no kernel of ours does",
        ),
        Step(split_keys, Switch.ATTENTION, "without a mask, or a causal one, the call splits keys itself"),
        Step(lay_out_masks, Switch.ATTENTION, "what other masks are left"),
        Step(keep_batch_norms, Switch.INFERENCE, "AOTAutograd would spell them out"),
        Step(scan_backwards, Switch.ALWAYS, "AOTAutograd would trace torch's gradients"),
        Step(write_where_masks_hold, Switch.ALWAYS, "the rewrites before follow what is written"),
        Step(keep_strides_of_updates, Switch.ALWAYS, "last: the rewrites before know updates in place"),
    ),
)
JOINT = Stage(
    "joint",
    "The joint graph, forward and backward in one, before the partitioner cuts it "
    "(`frontend/autograd/min_cut.py`).",
    (
        Step(repeat_elements, Switch.ALWAYS, "upsampling saves no indices, and its gradient is no scatter"),
        Step(sink_gathers, Switch.ALWAYS, "cross-entropy saves the logits instead of their log-softmax"),
        Step(save_offsets, Switch.ALWAYS, "max pooling saves bytes"),
        Step(recompute_relu_masks, Switch.ALWAYS, "before an epilogue hides what a ReLU reads"),
        Step(fuse_epilogues, Switch.EPILOGUES, "the ReLU is saved and not the product"),
        Step(save_one_shape, Switch.ALWAYS, "of what the rewrites before leave to be saved"),
        Step(merge_equal_nodes, Switch.ALWAYS, "the rewrites before make equal nodes, too"),
        Step(compare_what_is_saved, Switch.ALWAYS, "last: equal nodes have become one, and it makes a copy"),
    ),
)
WEIGHED = Stage(
    "weighed",
    "The joint graph after those rewrites, with the GPU that it runs on (`frontend/autograd/min_cut.py`).",
    (
        Step(split_sinks, Switch.GRADIENTS, "the next knows softmaxes of scores alone"),
        Step(
            recompute_scores,
            Switch.GRADIENTS,
            "behind what makes equal nodes one, which then are of one region",
        ),
    ),
)
CHUNKED = Stage(
    "chunked",
    "The joint graph after those rewrites (`frontend/autograd/min_cut.py`), or a graph without gradients "
    "after those of `graph` (`driver/graph_compilation.py`).",
    (
        Step(
            chunk_columns,
            Switch.MEMORY,
            "chunks of columns read weights once that chunks of few rows would read again and again",
        ),
        Step(
            chunk_rows,
            Switch.MEMORY,
            "equal nodes are one: those of the backward pass stay apart from now on",
        ),
    ),
)
KEYED = Stage(
    "keyed",
    "Each graph of AOTAutograd, before the user's `fx_pass` and before its key is looked up in the program "
    "cache (`driver/graph_compilation.py`).",
    (Step(drop_tokens, Switch.ALWAYS, "neither an `fx_pass` nor the key has to know tokens"),),
)
GRAPH = Stage(
    "graph",
    "Each graph of AOTAutograd that is not in the program cache (`driver/graph_compilation.py`).",
    (
        Step(separate_waits, Switch.ALWAYS, "first: all that follows knows waits for one tensor"),
        Step(wait_for_all, Switch.ALWAYS, "all others ask until when operands are read"),
        Step(compute_pairs, Switch.ALWAYS, "what follows looks at ops of real tensors"),
        Step(repeat_elements, Switch.ALWAYS, "in inference there is no joint graph"),
        Step(sink_gathers, Switch.ALWAYS, "in inference there is no joint graph"),
        Step(sum_one_hots, Switch.ALWAYS, "the gradient of cross-entropy"),
        Step(add_in_float32, Switch.ALWAYS, "the next knows sums in float32 that are rounded"),
        Step(compact_embedding_gradients, Switch.ALWAYS, "while the table and its rounding are two ops"),
        Step(slice_running_sums, Switch.ALWAYS, "no rewrite before makes running sums"),
        Step(scatter_into_one_table, Switch.ALWAYS, "last: the rewrites before know tables of zeros"),
    ),
)
SPELLED = Stage(
    "spelled",
    "The same graph, in front of those rewrites (`driver/graph_compilation.py`).",
    (
        Step(spell_flex_attention, Switch.FLEX_KERNELS, "the rewrites after it see what it spells out"),
        Step(spell_flex_gradients, Switch.FLEX_KERNELS, "the same of gradients"),
    ),
)
LAYOUTS = Stage(
    "layouts",
    "The same graph, when its strides are chosen (`rewrites/layouts/choose.py`).",
    (
        Step(close_gaps, Switch.ALWAYS, "the strides of eager mode are wasteful here"),
        Step(keep_strides_of_copies, Switch.LAYOUTS, "what is copied has its strides, without gaps"),
        Step(multiply_patches, Switch.LAYOUTS, "before the convolutions that are left are laid out"),
        Step(generate_stencils, Switch.LAYOUTS, "before the convolutions that are left lose their bias"),
        Step(multiply_columns, Switch.STEMS, "of the convolutions that are left: stencils need no product"),
        Step(split_bias, Switch.LAYOUTS, "before images get their strides, which the sum takes over"),
        Step(pad_products, Switch.LAYOUTS, "products of patches as well"),
        Step(lay_out_convolutions, Switch.LAYOUTS, "last: it walks the graph, and spreads all new strides"),
    ),
)
IMPORTED = Stage(
    "imported",
    "The same graph, when its strides are final, before the import (`driver/compilation.py`).",
    (
        Step(compile_flex_attention, Switch.FLEX, "Inductor generates code for strides that are final"),
        Step(write_calls_in_place, Switch.ALWAYS, "last: the graph is not functional afterwards"),
    ),
)
#: In the order in which they run.
STAGES = (CAPTURED, JOINT, WEIGHED, CHUNKED, KEYED, SPELLED, GRAPH, LAYOUTS, IMPORTED)

__all__ = [
    "CAPTURED",
    "CHUNKED",
    "GRAPH",
    "IMPORTED",
    "JOINT",
    "KEYED",
    "LAYOUTS",
    "SPELLED",
    "STAGES",
    "WEIGHED",
    "Stage",
    "Step",
    "Switch",
    "switched_on",
]
