"""fuse-mlir: a torch.compile backend on MLIR and Triton whose decisions can be read, run alone and tested.

``import fuse_mlir`` imports neither torch nor MLIR.  ``fuse_mlir.backend`` is the backend itself, for
``torch.compile(model, backend=fuse_mlir.backend)``; where the distribution is installed, ``backend="fuse"``
finds it by its entry point.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compiler.backend import fuse as backend
    from .compiler.driver.packages.loading import load
    from .compiler.driver.packages.write import package

    __version__: str

__all__ = ["__version__", "backend", "load", "package"]


#: Where what is loaded when it is first asked for is: a module and a name in it.
_HOMES = {
    "backend": (".compiler.backend", "fuse"),
    "load": (".compiler.driver.packages.loading", "load"),
    "package": (".compiler.driver.packages.write", "package"),
}


def __getattr__(name: str) -> Any:
    """What ``__all__`` names, each loaded when it is first asked for."""
    if name == "__version__":
        return _version()
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from .compiler.base.collector import collector_paused

    module, attribute = _HOMES[name]
    with collector_paused():  # a full collection, which an import may begin, visits all that torch has made
        return getattr(import_module(module, __name__), attribute)


def _version() -> str:
    """The version in ``pyproject.toml`` where this is a checkout, else that of the installed distribution."""
    import tomllib
    from importlib import metadata
    from pathlib import Path

    project = Path(__file__).with_name("pyproject.toml")
    if project.is_file():
        version: str = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
        return version
    return metadata.version("fuse-mlir")
