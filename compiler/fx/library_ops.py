"""Ops that stay extern calls on purpose, grouped by the reason."""

from ..base.products import whole_overloads
from .table import keep_whole

keep_whole(
    "matrix products: the vendor's library runs them, or a later pass generates them",
    *whole_overloads("product"),
)

keep_whole(
    "convolutions: the vendor's library runs them",
    *whole_overloads("convolution"),
)

keep_whole(
    "attention: the vendor's kernels do not write the scores to memory",
    *whole_overloads("attention"),
)

keep_whole(
    "views of the same bytes: only torch makes a tensor of another type of them, which costs no launch",
    "aten.view_as_real.default", "aten.view_as_complex.default", "aten._conj.default",
    "aten._neg_view.default",
)  # fmt: skip

keep_whole(
    "sizes and numbers that the host reads",
    "aten._local_scalar_dense.default", "aten.sym_size.int", "aten.sym_stride.int", "aten.sym_numel.default",
    "aten.sym_storage_offset.default",
)  # fmt: skip

keep_whole(
    "a number of elements that depends on the data",
    "aten.nonzero.default", "aten.nonzero_static.default", "aten._unique2.default", "aten.unique_dim.default",
    "aten.unique_consecutive.default", "aten.masked_select.default", "aten.repeat_interleave.Tensor",
    "aten.bincount.default",
)  # fmt: skip

keep_whole(
    "histograms that torch has on a CPU alone",
    "aten.histogram.bins_tensor", "aten.histogram.bin_ct", "aten._histogramdd_bin_edges.default",
    "aten._histogramdd_from_bin_cts.default", "aten._histogramdd_from_bin_tensors.default",
)  # fmt: skip

keep_whole("Inductor compiled it", "higher_order.run_inductor_graph")
keep_whole(
    "it keeps the state of torch's generator, so that an op draws again what it drew",
    "higher_order.run_and_save_rng_state", "higher_order.run_with_rng_state",
)  # fmt: skip
keep_whole("an op with an effect, and the token that orders it", "higher_order.with_effects")

keep_whole(
    "sorting: the vendor's library runs it",
    "aten.sort.default", "aten.sort.stable", "aten.topk.default", "aten.kthvalue.default",
    "aten.median.default", "aten.median.dim", "aten.nanmedian.default", "aten.nanmedian.dim",
    "aten.mode.default", "aten.searchsorted.Scalar", "aten.bucketize.Scalar",
)  # fmt: skip

keep_whole(
    "a running count of all elements: the vendor's library spreads it over the chip",
    "aten.masked_scatter.default",
)

keep_whole(
    "torch's decomposition is wrong: it also counts target classes after the -1 that ends a row's list",
    "aten.multilabel_margin_loss_forward.default", "aten.multilabel_margin_loss_backward.default",
)  # fmt: skip

keep_whole(
    "collectives: the process group runs them, beside the program (fx/collectives.py)",
    *(
        f"_c10d_functional.{op}.default"
        for op in (
            "all_gather_into_tensor", "all_gather_into_tensor_coalesced", "all_gather_into_tensor_out",
            "all_reduce", "all_reduce_", "all_reduce_coalesced", "all_reduce_coalesced_",
            "all_to_all_single", "batch_p2p_ops", "broadcast", "broadcast_", "irecv", "isend",
            "reduce_scatter_tensor", "reduce_scatter_tensor_coalesced", "reduce_scatter_tensor_out",
            "wait_tensor",
        )
    ),
)  # fmt: skip
