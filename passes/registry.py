"""All passes by name.  A new pass is one import and one line here."""

from collections.abc import Iterable
from importlib import import_module, metadata

from .pass_base import Pass

#: Modules of this folder that define a pass: the module's name is the pass's name with underscores.
_MODULES = (
    "apply_tiling",
    "choose_tiling",
    "combine_reductions",
    "deduplicate_calls",
    "deduplicate_kernels",
    "duplicate_cheap",
    "eliminate_dead",
    "fold_views",
    "fuse_horizontal",
    "fuse_vertical",
    "lower_control_deps",
    "lower_device_assert",
    "lower_to_tt",
    "materialize_fusion",
    "plan_memory",
    "simplify_dims",
    "split_reductions",
)

#: Entry-point group in which other packages offer passes: ``name = "package.module:PassClass"``.
ENTRY_POINTS = "fuse_mlir.passes"


def camel(name: str) -> str:
    """``fuse-vertical`` or ``fuse_vertical`` -> ``FuseVertical``; ``tt`` stays lower-case only inside words."""
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))


def _built_in() -> dict[str, type[Pass]]:
    passes: dict[str, type[Pass]] = {}
    for module in _MODULES:
        cls = getattr(import_module(f".{module}", __package__), camel(module))
        assert cls.name == module.replace("_", "-"), f"{module}.py defines the pass {cls.name}"
        assert cls.name not in passes, f"two passes are named {cls.name}"
        passes[cls.name] = cls
    return passes


#: The project's own passes.
PASSES: dict[str, type[Pass]] = _built_in()


def all_passes(extra: Iterable[metadata.EntryPoint] | None = None) -> dict[str, type[Pass]]:
    """The project's passes and those of installed packages.  Raises ValueError when a package takes a name that is in use."""
    passes = dict(PASSES)
    for entry in metadata.entry_points(group=ENTRY_POINTS) if extra is None else extra:
        cls = entry.load()
        if cls.name in passes:
            raise ValueError(f"the entry point {entry.value} registers a second pass named {cls.name}")
        passes[cls.name] = cls
    return passes
