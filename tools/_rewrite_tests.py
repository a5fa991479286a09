"""The tests in which each rewrite of FX graphs fires, and those in which it must not.

``docs/rewrites.md`` shows them; ``test/py/rewrites/test_stages.py`` checks that each rewrite has both.
"""

from ..compiler.base.dataclass import dataclass


@dataclass(frozen=True)
class RewriteTests:
    """file: below ``test/py``.  fires, stays: test functions in which the rewrite fires, or must not fire."""

    file: str
    fires: str
    stays: str


#: The name of a rewrite -> its tests.
TESTS = {
    "attention": RewriteTests("rewrites/test_attention.py", "test_fires", "test_does_not_fire"),
    "attention-gradients": RewriteTests(
        "rewrites/test_attention_gradients.py", "test_gradients_are_kernels_and_right", "test_left_alone"
    ),
    "attention-layout": RewriteTests(
        "rewrites/test_attention_layout.py",
        "test_one_kernel_makes_the_query_and_none_merges",
        "test_does_not_fire",
    ),
    "attention-masks": RewriteTests("rewrites/test_attention_masks.py", "test_causal", "test_left_alone"),
    "attention-decoding": RewriteTests(
        "rewrites/test_attention_decoding.py", "test_fires", "test_does_not_fire"
    ),
    "attention-splits": RewriteTests("rewrites/test_attention_splits.py", "test_fires", "test_does_not_fire"),
    "attention-mask-layout": RewriteTests(
        "rewrites/test_attention_mask_layout.py",
        "test_a_mask_with_strided_keys_is_made_contiguous",
        "test_left_alone",
    ),
    "batch-norms": RewriteTests(
        "rewrites/test_batch_norms.py", "test_keywords_and_defaults", "test_what_is_left_alone"
    ),
    "scan-gradients": RewriteTests(
        "rewrites/test_scan_gradients.py",
        "test_gradients_of_recurrences",
        "test_other_functions_keep_torchs_gradient",
    ),
    "softmax-sinks": RewriteTests(
        "rewrites/test_softmax_sinks.py", "test_scores_are_not_copied", "test_left_alone"
    ),
    "split-sinks": RewriteTests(
        "rewrites/test_split_sinks.py", "test_kernels_have_neither_scores_nor_a_copy", "test_left_alone"
    ),
    "idle-dropouts": RewriteTests(
        "rewrites/test_idle_dropouts.py", "test_what_is_written_is_in_the_operand", "test_left_alone"
    ),
    "overlapping-lists": RewriteTests(
        "rewrites/test_overlapping_lists.py", "test_updated_one_after_the_other", "test_left_alone"
    ),
    "written-views": RewriteTests(
        "rewrites/test_written_views.py", "test_what_is_written_is_in_memory", "test_left_alone"
    ),
    "written-strides": RewriteTests(
        "rewrites/test_written_strides.py", "test_what_follows_counts_eagers_strides", "test_left_alone"
    ),
    "masked-writes": RewriteTests(
        "rewrites/test_masked_writes.py", "test_writes_and_gradients", "test_not_for_other_indices"
    ),
    "separate-waits": RewriteTests(
        "rewrites/test_separate_waits.py", "test_each_tensor_gets_a_wait", "test_left_alone"
    ),
    "repeats": RewriteTests(
        "rewrites/test_repeats.py",
        "test_upsampling_by_a_whole_number_is_a_view",
        "test_other_sizes_are_read_at_indices",
    ),
    "gathers": RewriteTests(
        "rewrites/test_gathers.py", "test_cross_entropy_reads_one_logit_of_a_row", "test_left_alone"
    ),
    "pool-offsets": RewriteTests(
        "frontend/test_pools.py",
        "test_a_byte_for_each_result_is_saved",
        "test_places_that_are_results_stay",
    ),
    "relu-masks": RewriteTests("rewrites/test_relu_masks.py", "test_masks", "test_another_threshold_stays"),
    "product-epilogues": RewriteTests(
        "rewrites/test_product_epilogues.py",
        "test_a_product_computes_the_relu_behind_it",
        "test_left_alone",
    ),
    "saved-shapes": RewriteTests(
        "rewrites/test_saved_shapes.py", "test_readers_of_two_shapes_read_one", "test_left_alone"
    ),
    "equal-nodes": RewriteTests(
        "rewrites/test_equal_nodes.py",
        "test_equal_calls_become_one_and_so_do_their_readers",
        "test_what_is_not_merged",
    ),
    "compared-extremes": RewriteTests(
        "rewrites/test_compared_extremes.py", "test_the_backward_graph_takes_it_again", "test_left_alone"
    ),
    "effect-tokens": RewriteTests(
        "rewrites/test_effect_tokens.py", "test_tokens_go", "test_effects_of_higher_order_ops_keep_theirs"
    ),
    "collective-waits": RewriteTests(
        "rewrites/test_collective_waits.py", "test_a_collective_gets_a_wait", "test_left_alone"
    ),
    "complex-pairs": RewriteTests(
        "rewrites/test_complex_pairs.py",
        "test_rotary_embeddings_are_one_kernel_each",
        "test_what_torch_computes",
    ),
    "column-chunks": RewriteTests(
        "rewrites/test_column_chunks.py", "test_gradients_are_as_near_as_eagers", "test_left_alone"
    ),
    "row-chunks": RewriteTests(
        "rewrites/test_row_chunks.py", "test_gradients_are_as_near_as_eagers", "test_left_alone"
    ),
    "one-hot": RewriteTests(
        "rewrites/test_one_hot.py", "test_a_row_with_one_element_is_not_summed", "test_other_sums_stay"
    ),
    "running-sums": RewriteTests(
        "rewrites/test_running_sums.py",
        "test_the_places_of_tokens_are_computed_in_slices",
        "test_others_stay",
    ),
    "embedding-gradients": RewriteTests(
        "rewrites/test_embedding_gradients.py",
        "test_it_goes_into_the_product_that_it_is_added_to",
        "test_a_small_table_is_left",
    ),
    "scattered-sums": RewriteTests("rewrites/test_scattered_sums.py", "test_fires", "test_does_not_fire"),
    "wide-sums": RewriteTests("rewrites/test_wide_sums.py", "test_fires", "test_does_not_fire"),
    "flex-attention": RewriteTests(
        "rewrites/test_flex_attention.py", "test_inductor_gets_the_op_alone", "test_left_alone"
    ),
    "attention-biases": RewriteTests(
        "rewrites/test_attention_biases.py", "test_it_stays_spelled_out", "test_it_becomes_a_call"
    ),
    "attention-calls": RewriteTests(
        "rewrites/test_attention_calls.py", "test_it_computes_what_the_call_does", "test_left_alone"
    ),
    "attention-differences": RewriteTests(
        "rewrites/test_attention_differences.py", "test_both_become_attention", "test_left_alone"
    ),
    "flex-gradients": RewriteTests(
        "rewrites/test_flex_gradients.py", "test_each_form_is_kernels_and_right", "test_left_alone"
    ),
    "flex-kernels": RewriteTests(
        "rewrites/test_flex_kernels.py", "test_each_form_is_one_kernel_and_right", "test_left_alone"
    ),
    "copies": RewriteTests(
        "rewrites/test_copies.py", "test_a_copy_that_is_reduced_keeps_strides", "test_copies_that_stay"
    ),
    "gaps": RewriteTests(
        "rewrites/test_gaps.py", "test_what_kernels_read_has_none", "test_where_the_gaps_stay"
    ),
    "patches": RewriteTests(
        "rewrites/test_layouts.py",
        "test_patches_are_multiplied",
        "test_other_convolutions_are_not_multiplied",
    ),
    "stencils": RewriteTests(
        "rewrites/test_stencils.py", "test_each_channel_has_a_stencil", "test_convolutions_that_stay"
    ),
    "stems": RewriteTests(
        "rewrites/test_stems.py", "test_a_stem_is_one_kernel", "test_convolutions_that_stay"
    ),
    "convolution-biases": RewriteTests(
        "rewrites/test_layouts.py",
        "test_the_gradient_of_a_bias_is_a_sum_of_ours",
        "test_the_gradient_of_a_float64_bias_is_left_to_torch",
    ),
    "pad-products": RewriteTests(
        "rewrites/test_layouts.py", "test_sizes_of_the_products", "test_products_that_stay"
    ),
    "convolutions": RewriteTests(
        "rewrites/test_layouts.py",
        "test_images_stay_channels_last_between_convolutions",
        "test_groups_of_several_channels_stay",
    ),
    "mutating-calls": RewriteTests(
        "rewrites/test_mutating_calls.py", "test_in_place", "test_calls_that_stay_functional"
    ),
}

__all__ = ["TESTS", "RewriteTests"]
