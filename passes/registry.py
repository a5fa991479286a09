"""All passes by name.  A new pass is one file in a folder of this one: nothing else has to be told.

A module there is a pass if its source names it: ``name: ClassVar[str] = "fuse-vertical"`` stands in
``fuse_vertical.py``, which defines the class ``FuseVertical``.  Passes are imported when they are asked for,
so that a tool which runs one pass loads one pass.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .pass_base import Pass

if TYPE_CHECKING:
    from importlib import metadata

#: Entry-point group in which other packages offer passes: ``pass-name = "package.module:PassClass"``.
ENTRY_POINTS = "fuse_mlir.passes"


def camel(name: str) -> str:
    """``fuse-vertical`` or ``fuse_vertical`` -> ``FuseVertical``."""
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))


def pass_modules(folder: Path = Path(__file__).parent) -> dict[str, str]:
    """By the names of the passes below ``folder``, sorted, the modules that define them."""
    found = {}
    for path in folder.glob("*/*.py"):
        name = path.stem.replace("_", "-")
        if f'    name: ClassVar[str] = "{name}"'.encode() in path.read_bytes():
            found[name] = ".".join(path.relative_to(folder).with_suffix("").parts)
    return dict(sorted(found.items()))


class PluginError(ValueError):
    """A pass of another package that cannot be used: one sentence that names its entry point."""


class PassTable(Mapping[str, type[Pass]]):
    """Pass name -> class, in sorted order; a lookup imports the module.

    Iteration and ``in`` import nothing.  A lookup raises KeyError on an unknown name, and ``PluginError``
    where another package's pass cannot be imported or is not the pass that its place promises.
    """

    def __init__(self, sources: Mapping[str, Any]) -> None:
        """``sources``: pass name -> a module below this folder, or an entry point of another package."""
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
    name = module.rpartition(".")[2]
    found = getattr(import_module(f".{module}", __package__), camel(name), None)
    return _checked(found, name.replace("_", "-"), f"{module}.{camel(name)}")


def _foreign(entry: "metadata.EntryPoint") -> type[Pass]:
    try:
        return _checked(entry.load(), entry.name, f"the entry point {entry.value}")
    except Exception as error:  # whatever the import of another package raises
        why = f"{type(error).__name__}: {error}"
        raise PluginError(f"pass '{entry.name}' of another package cannot be used: {why}") from error


#: The project's own passes.
_MODULES = pass_modules()
PASSES = PassTable(_MODULES)


def all_passes(extra: "Iterable[metadata.EntryPoint] | None" = None) -> PassTable:
    """The project's passes and those of installed packages.

    Raises ``PluginError`` when a package takes a name that is in use.
    """
    from importlib import metadata  # looking through all installed packages is slow: only who asks pays

    sources: dict[str, Any] = dict(_MODULES)
    for entry in metadata.entry_points(group=ENTRY_POINTS) if extra is None else extra:
        if entry.name in sources:
            raise PluginError(f"the entry point {entry.value} registers a second pass named {entry.name}")
        sources[entry.name] = entry
    return PassTable(sources)
