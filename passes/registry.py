"""All passes by name.  A new pass is one file of this folder: nothing else has to be told.

A module of this folder is a pass unless it is one of ``_NOT_PASSES``: ``fuse_vertical.py`` defines the pass
``fuse-vertical`` as the class ``FuseVertical``.  What passes share is in the package ``helpers``.  Passes are
imported when they are asked for, so that a tool which runs one pass loads one pass.
"""

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .pass_base import Pass

if TYPE_CHECKING:
    from importlib import metadata

#: Modules of this folder that run passes rather than being one.
_NOT_PASSES = frozenset(
    {"analysis_manager", "manager", "observers", "pass_base", "pipeline", "pipeline_text", "registry"}
)

#: Entry-point group in which other packages offer passes: ``pass-name = "package.module:PassClass"``.
ENTRY_POINTS = "fuse_mlir.passes"


def camel(name: str) -> str:
    """``fuse-vertical`` or ``fuse_vertical`` -> ``FuseVertical``."""
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))


def pass_modules(folder: Path = Path(__file__).parent) -> list[str]:
    """The modules of ``folder`` that define a pass, sorted."""
    names = (module.name for module in pkgutil.iter_modules([str(folder)]) if not module.ispkg)
    return sorted(name for name in names if name not in _NOT_PASSES)


class PluginError(ValueError):
    """A pass of another package that cannot be used: one sentence that names its entry point."""


class PassTable(Mapping[str, type[Pass]]):
    """Pass name -> class, in sorted order; a lookup imports the module.

    Iteration and ``in`` import nothing.  A lookup raises KeyError on an unknown name, and ``PluginError``
    where another package's pass cannot be imported or is not the pass that its place promises.
    """

    def __init__(self, sources: Mapping[str, Any]) -> None:
        """``sources``: pass name -> a module of this folder, or an entry point of another package."""
        self._sources = dict(sorted(sources.items()))

    def __getitem__(self, name: str) -> type[Pass]:
        source = self._sources[name]
        return _own(source) if isinstance(source, str) else _foreign(source)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __contains__(self, name: object) -> bool:
        return name in self._sources


def _checked(found: Any, name: str, place: str) -> type[Pass]:
    if not (isinstance(found, type) and issubclass(found, Pass)):
        raise TypeError(f"{place} is expected to be a pass, it is {found!r}")
    if found.name != name:
        raise TypeError(f"{place} is expected to be the pass '{name}', it is named '{found.name}'")
    return found


@cache
def _own(module: str) -> type[Pass]:
    found = getattr(import_module(f".{module}", __package__), camel(module), None)
    return _checked(found, module.replace("_", "-"), f"{module}.{camel(module)}")


def _foreign(entry: "metadata.EntryPoint") -> type[Pass]:
    try:
        return _checked(entry.load(), entry.name, f"the entry point {entry.value}")
    except Exception as error:  # whatever the import of another package raises
        why = f"{type(error).__name__}: {error}"
        raise PluginError(f"pass '{entry.name}' of another package cannot be used: {why}") from error


#: The project's own passes.
PASSES = PassTable({module.replace("_", "-"): module for module in pass_modules()})


def all_passes(extra: "Iterable[metadata.EntryPoint] | None" = None) -> PassTable:
    """The project's passes and those of installed packages.

    Raises ``PluginError`` when a package takes a name that is in use.
    """
    from importlib import metadata  # looking through all installed packages is slow: only who asks pays

    sources: dict[str, Any] = {name: name.replace("-", "_") for name in PASSES}
    for entry in metadata.entry_points(group=ENTRY_POINTS) if extra is None else extra:
        if entry.name in sources:
            raise PluginError(f"the entry point {entry.value} registers a second pass named {entry.name}")
        sources[entry.name] = entry
    return PassTable(sources)
