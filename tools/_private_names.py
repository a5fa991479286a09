"""The one table of the names of torch, Triton and the bindings that may go without notice, and are used here.

``test/py/project/test_private_names.py`` compares it with the sources, both ways, and says of the installed
versions which names are gone. ``docs/private-names.md`` is written from it.
"""

import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from ..compiler.base.dataclass import dataclass
from ._markdown import table
from ._private_uses import private_uses


@dataclass(frozen=True)
class Names:
    """``names`` of ``owner``, parted by single spaces. A space in front, or no name, is ``owner`` itself.

    owner: a module, a class or an object. instead: what to do where they are gone. until: the last version of
    the package that has them, "" where all supported ones do (``base/versions.py``). needs: what an
    installation may lack, and the names with it; "" for nothing. on_objects: the sources ask some object for
    them, and name no owner.
    """

    owner: str
    names: str
    instead: str
    until: str = ""
    needs: str = ""
    on_objects: bool = False

    def full(self) -> Iterator[str]:
        """Each name with its owner in front."""
        for name in self.names.split(" "):
            yield f"{self.owner}.{name}" if name else self.owner


#: For names that stand for others, which have rows of their own.
_MODULE = "what is used of it has rows of its own"
#: For what only objects have that a class does not show.
_OBJECT = "an object"

PRIVATE_NAMES: tuple[Names, ...] = (
    # ---- torch's C++ ---------------------------------------------------------------------------------------
    Names("torch._C", "", _MODULE),
    Names(
        "torch._C",
        "TensorBase _VariableFunctions _nn _fft _linalg _special",
        "the functions of torch and torch.Tensor by name",
    ),
    Names(
        "torch._C",
        "_cuda_getCurrentRawStream _cuda_getDevice",
        "torch.cuda.current_stream().cuda_stream, torch.cuda.current_device(): slower",
        needs="CUDA",
    ),
    Names("torch._C", "_dispatch_get_all_op_names", "a list of torch.ops.aten's foreach ops"),
    Names("torch", "_VF", "the functions of torch and torch.Tensor by name"),
    Names("torch._C", "_jit_get_schemas_for_operator", "take every call of the function for a writer"),
    Names("torch._C._profiler", "_RecordFunctionFast", "torch.profiler.record_function: slower"),
    Names("torch._C._functorch", "is_functorch_wrapped_tensor", "take every tensor for a wrapped one"),
    Names("torch._C._autograd", "_get_data_attr", "it is a node of captured graphs: look for the new one"),
    Names("torch._C", "_storage_Use_Count", "copy all that a backward graph takes over"),
    Names("torch._C", "_get_sdp_priority_order", "leave it out of the keys, and cache no attention"),
    Names("torch._C", "_is_any_autocast_enabled", "torch.is_autocast_enabled of each device type"),
    Names("torch._C", "DisableTorchFunction", "torch.overrides._disable_user_torch_function"),
    Names("torch._C", "_len_torch_dispatch_stack", "cache no captured graph"),
    Names("torch._C", "_set_grad_enabled", "it is a node of captured graphs: look for the new one"),
    Names("torch._C._dynamo.guards", "", _MODULE),
    Names(
        "torch._C._dynamo.guards",
        "_empty_strided_cpu _empty_strided_cuda _reinterpret_tensor assert_size_stride",
        "torch.empty_strided, torch.as_strided and a comparison of shapes: slower",
    ),
    # ---- Dynamo and AOTAutograd ----------------------------------------------------------------------------
    Names(
        "torch._dynamo.backends.common", "aot_autograd", "aot_module_simplified, which the user would call"
    ),
    Names(
        "torch._dynamo.callback.callback_handler",
        " register_end_callback end_callbacks",
        "profiler ranges end with the call of the backend",
    ),
    Names("torch._dynamo.config", " patch", "setting the attribute, and setting it back"),
    Names("torch._dynamo.config", "caching_precompile", "torch keeps no graphs of this backend"),
    Names("torch._dynamo.debug_utils", "cast_to_fp64", "compare with eager alone"),
    Names("torch._dynamo.utils", "get_debug_dir", "the folder torch_compile_debug"),
    Names("torch._dynamo.utils", "clone_inputs same", "copies, and torch.testing.assert_close"),
    Names("torch._dynamo.source", "ConstantSource", "another source of a symbol of output='fx'"),
    Names(
        "torch._functorch._aot_autograd.schemas.OutputType",
        " alias_of_intermediate_base_is_user_output custom_function_view non_alias unsafe_view_alias",
        "keep the strides of all outputs",
    ),
    Names("torch._functorch.config", " patch", "setting the attribute, and setting it back"),
    Names("torch._functorch.config", "get_hash", "cache no captured graph"),
    Names("torch._functorch.config", "bundled_autograd_cache", "no aot_compile"),
    Names(
        "torch._functorch.aot_autograd",
        "SerializableAOTDispatchCompiler",
        "torch keeps no graphs of this backend",
    ),
    Names("torch._functorch.config", "joint_custom_pass", "it need not be in keys"),
    Names(
        "torch._functorch.config",
        "activation_memory_budget_runtime_estimator activation_memory_budget_solver",
        "they need not be in keys",
    ),
    Names("torch._functorch.config", "cse graphsafe_rng_functionalization", "it need not be switched off"),
    Names(
        "torch._functorch.partitioners",
        "default_partition min_cut_rematerialization_partition",
        "AOTAutograd's own choice of the cut",
    ),
    Names(
        "torch._functorch.partitioners",
        " OpTypes get_default_op_list",
        "save rows that are cheap to read again",
    ),
    Names(
        "torch._guards",
        "CompileContext.try_get",
        "profiler ranges have no number of the graph, a budget does not say what is compiled again",
    ),
    Names(
        "torch._guards", "TracingContext TracingContext.try_get tracing", "torch.compiler has no other way"
    ),
    Names("torch._logging", "trace_structured", "write nothing into torch's trace"),
    Names("torch._logging._internal.trace_log", " handlers", "write nothing into torch's trace"),
    Names(
        "torch.export.pt2_archive._package",
        "PT2ArchiveWriter",
        "a zip of uncompressed entries with torch's version files",
    ),
    Names("torch.utils._pytree", "treespec_dumps treespec_loads", "torch.utils.pytree, once it is public"),
    Names(
        "torch.compiler._cache",
        "CacheArtifact CacheArtifactFactory CacheArtifactFactory.register CacheArtifactManager"
        " CacheArtifactManager.record_artifact",
        "leave our entries out of torch's portable cache",
    ),
    Names("torch._guards", "detect_fake_mode", "the mode of the first fake tensor among the values"),
    # ---- ops -----------------------------------------------------------------------------------------------
    Names(
        "torch._higher_order_ops.triton_kernel_wrap",
        " get_mutated_tensors kernel_side_table kernel_side_table.constant_args.get"
        " kernel_side_table.get_constant_args"
        " kernel_side_table.get_kernel kernel_side_table.id_to_kernel.get",
        "none: a user's kernel is known by it alone",
    ),
    Names(
        "torch._decomp", "decomposition_table decomposition_table.get", "torch.export's decomposition table"
    ),
    Names("torch._inductor.decomposition", "select_decomp_table", "torch.export's decomposition table"),
    Names(
        "torch._ops",
        "HigherOrderOperator OpOverload OpOverloadPacket OperatorBase _OpNamespace",
        "the types of torch.ops.aten.add.Tensor and of what holds it",
    ),
    Names("torch._prims.rng_prims", "run_and_save_rng_state run_with_rng_state", "the ops by their names"),
    Names(
        "torch._prims_common",
        "ELEMENTWISE_TYPE_PROMOTION_KIND ELEMENTWISE_TYPE_PROMOTION_KIND.ALWAYS_BOOL"
        " ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT elementwise_dtypes get_computation_dtype",
        "torch.result_type, and a table of computation types",
    ),
    Names("torch._prims_common", "suggest_memory_format", "is_contiguous with a memory format"),
    Names(
        "torch.ops",
        "_c10d_functional.wait_tensor.default aten._assert_async.msg aten._linalg_check_errors.default"
        " aten._safe_softmax aten._scaled_dot_product_flash_attention_for_cpu"
        " aten._assert_scalar.default aten._conj.default"
        " aten._local_scalar_dense.default"
        " aten._to_copy.default aten._unsafe_index.Tensor aten._unsafe_index_put.default"
        " aten._unsafe_view.default aten._neg_view.default"
        " prims._make_token.default prims._sink_tokens.default",
        "the new op: tools/torch_differences.py names it",
    ),
    Names(
        "torch.ao.quantization.fx", "_decomposed", "its import registers ops; without them it is not needed"
    ),
    Names(
        "torch.ops.aten.add.Tensor",
        "_opname _overloadname _schema",
        "str(op), torch.jit's schemas",
        on_objects=True,
    ),
    # ---- Inductor ------------------------------------------------------------------------------------------
    Names("torch._inductor.config", " get_hash", "cache no captured graph"),
    Names("torch._inductor.output_code", "OutputCode", "no aot_compile"),
    Names("torch._inductor.fx_passes.control_dependencies", "control_deps", "losses are not made in chunks"),
    Names("torch._inductor.compile_fx", "compile_fx_inner", "flex_attention runs as torch"),
    Names("torch._inductor.compile_fx", "cudagraphify", "CUDA graphs of this package's own, or none"),
    Names("torch._inductor.cudagraph_trees", "get_manager", "CUDA graphs of this package's own, or none"),
    Names("torch._inductor.cudagraph_utils", "PlaceholderInfo", "CUDA graphs of this package's own, or none"),
    # ---- what tools/torch_differences.py asks --------------------------------------------------------------
    Names("torch._C", "_jit_get_all_schemas", "the schemas of torch.ops, one by one"),
    Names("torch._ops", "_higher_order_ops", "a list of the higher-order ops"),
    Names("torch._inductor.config", "_config", "the names that dir() gives", on_objects=True),
    Names("torch._higher_order_ops", "", "it registers ops; a version without it is read without"),
    Names("torch._inductor", "lowering", "it registers ops; a version without it is read without"),
    Names(
        "torch.distributed",
        "_functional_collectives _symmetric_memory",
        "they register ops; a version without them is read without",
    ),
    # ---- tensors and graphs --------------------------------------------------------------------------------
    Names("torch.fx.Node", "_dynamo_source", "nothing to do", needs=_OBJECT, on_objects=True),
    Names(
        "torch._library.custom_ops.CustomOpDef",
        "_opoverload",
        "the op by its name",
        needs=_OBJECT,
        on_objects=True,
    ),
    Names(
        "torch.UntypedStorage", "_cdata", "data_ptr() and the size; fakes have no address", on_objects=True
    ),
    Names("torch.Tensor", "_is_view", "assume that it is a view", on_objects=True),
    Names(
        "torch._subclasses.fake_tensor",
        "FakeTensor FakeTensorMode unset_fake_temporarily",
        "torch._subclasses itself, which hands the first two out",
    ),
    Names("torch.utils._python_dispatch", "_disable_current_modes is_traceable_wrapper_subclass", "none"),
    Names("torch.overrides", "_get_current_function_mode_stack", "cache no captured graph"),
    Names(
        "torch.utils._pytree",
        " TreeSpec tree_flatten tree_leaves tree_map tree_map_only tree_unflatten",
        "torch.utils.pytree",
    ),
    Names("torch.utils._sympy.functions", "FloorDiv Mod ModularIndexing PythonMod", "their text, by name"),
    Names(
        "torch.fx._lazy_graph_module", "_LazyGraphModule _LazyGraphModule.from_graphmodule", "nothing to do"
    ),
    Names("torch.fx.experimental.proxy_tensor", "make_fx", "torch.export"),
    Names(
        "torch.fx.experimental.symbolic_shapes",
        "DimDynamic DimDynamic.DYNAMIC ShapeEnv free_unbacked_symbols statically_known_true",
        "none: static shapes only",
    ),
    Names(
        "torch.distributed.distributed_c10d",
        "_get_default_store _get_group_size_by_name",
        "no check of the schedules of ranks, and collectives as torch runs them",
    ),
    # ---- Triton --------------------------------------------------------------------------------------------
    Names(
        "triton._C.libtriton.ir",
        " builder context load_dialects parse_mlir_module pass_manager",
        "none: TTIR is parsed with them",
    ),
    Names("triton._C.libtriton", "passes passes.ttir", "none: a user's kernel is inlined with them"),
    Names(
        "triton._C.libtriton.passes.common",
        "add_canonicalizer add_cse add_inliner add_symbol_dce",
        "none: a user's kernel is inlined with them",
    ),
    Names(
        "triton._C.libtriton.passes.ttir",
        "add_rewrite_tensor_pointer",
        "nothing to do: the front end makes no block pointers any more",
        until="3.6",
    ),
    Names("triton._utils", "canonicalize_dtype", "a table of Triton's names of types"),
    Names(
        "triton.backends.compiler",
        " GPUTarget Language Language.TRITON",
        "none: a kernel is compiled with them",
    ),
    Names("triton.compiler.compiler", " ASTSource make_backend", "none: a kernel is compiled with them"),
    Names(
        "triton.knobs",
        " nvidia.nvdisasm.path nvidia.ptxas_options runtime.debug",
        "the environment variables, and no SASS",
    ),
    Names(
        "triton.runtime.jit", "JITFunction native_specialize_impl", "none: a user's kernel is read with them"
    ),
    # ---- the bindings --------------------------------------------------------------------------------------
    Names("torch_mlir.dialects", "_ods_common", _MODULE),
    Names("mlir.dialects", "_ods_common", _MODULE, needs="MLIR's own bindings"),
    Names(
        "torch_mlir.dialects._ods_common._cext",
        " globals._register_dialect_impl register_op_adaptor register_operation register_type_caster",
        "load each dialect as its class does: slower",
    ),
    Names(
        "torch_mlir.dialects.ext",
        "AttributeDef AttributeDef.process_attr Dialect",
        "none: dialects are these",
    ),
    Names(
        "torch_mlir.dialects.ext.Dialect",
        "_mlir_module",
        "load the dialect anew",
        needs=_OBJECT,
        on_objects=True,
    ),
    Names("torch_mlir.dialects.ext.Operation", "_attach_traits", "load the dialect anew", on_objects=True),
    Names(
        "torch_mlir.dialects.ext.Operation",
        "_traits",
        "leave it out of the page",
        needs=_OBJECT,
        on_objects=True,
    ),
    Names("torch_mlir.ir", "_globals", "nothing to do: loading is slower", on_objects=True),
    # ---- Helion --------------------------------------------------------------------------------------------
    Names(
        "helion._compiler._dynamo.higher_order_ops",
        "get_helion_kernel helion_kernel_wrapper_functional",
        "Helion's kernels run as torch",
        needs="Helion",
    ),
)


def known_names() -> set[str]:
    """Every name of the table as ``private_uses`` spells it."""
    return {
        f"*.{name.rpartition('.')[2]}" if row.on_objects else name
        for row in PRIVATE_NAMES
        for name in row.full()
    }


def exists(name: str) -> bool:
    """Whether an installation has a name such as ``torch._C.TensorBase``: imports the module in it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def available(needs: str) -> bool:
    """Whether the installation has what a row needs; objects are not looked at."""
    import torch

    packages = {"Helion": "helion", "MLIR's own bindings": "mlir"}
    if needs in packages:
        return importlib.util.find_spec(packages[needs]) is not None
    return needs == "" or (needs == "CUDA" and torch.version.cuda is not None)


def names_page(header: str, root: Path) -> str:
    """docs/private-names.md."""
    uses = private_uses(package_sources(root))
    lines = [
        "# Private names",
        "",
        "What the compiler uses of torch, Triton and the MLIR bindings that may go without notice, where it",
        "uses it, and what to do where a version lacks it. All supported versions",
        "([versions.md](versions.md)) have a name, or those up to the one in the second column.",
        "`test/py/project/test_private_names.py` names what is gone in the installed versions.",
        "",
    ]
    rows = []
    for row in PRIVATE_NAMES:
        keys = {f"*.{n.rpartition('.')[2]}" if row.on_objects else n for n in row.full()}
        modules = {module for key in keys for module in uses.get(key, ())}
        where = sorted({f"`{'/'.join(module.split('.')[1:-1][:2]) or '.'}`" for module in modules})
        names = f"`{row.owner}`: " + ", ".join(f"`{name or row.owner}`" for name in row.names.split(" "))
        rows.append(
            (
                names if row.names else f"`{row.owner}`",
                row.until or "all",
                ", ".join(where),
                row.instead,
            )
        )
    return header + "\n".join([*lines, *table(("names", "versions", "used in", "instead"), rows), ""])


def package_sources(root: Path) -> dict[str, str]:
    """Module -> text of all that is not a test."""
    files = [
        *root.glob("*.py"),
        *(f for top in ("compiler", "integrations", "passes", "tools") for f in (root / top).rglob("*.py")),
    ]
    spelled = (
        (".".join(("fuse_mlir", *f.relative_to(root).with_suffix("").parts)), f) for f in sorted(files)
    )
    return {name: f.read_text(encoding="utf-8") for name, f in spelled if f.name != "_private_names.py"}
