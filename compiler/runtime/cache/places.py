"""Finds the folder of the cache from the options, the environment and the system."""

import os
from pathlib import Path

from ...base.options import OptionError, Options
from .cache_contents import foreigner
from .cache_folder import CacheFolder
from .owned_files import Untrusted, open_folder


def default_directory() -> Path:
    """``$XDG_CACHE_HOME/fuse_mlir``, else ``~/.cache/fuse_mlir``.  A user without a home gets a folder of
    their own among the temporary files.
    """
    for base in (os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache")):
        if os.path.isabs(base):  # XDG: a relative path is invalid and is ignored; "~" is left where none is
            return Path(base) / "fuse_mlir"
    return Path(os.environ.get("TMPDIR") or "/tmp") / f"fuse_mlir-{os.geteuid()}"


def cache_directory(options: Options) -> Path:
    """The folder in which the options store entries."""
    return Path(options.cache_dir) if options.cache_dir is not None else default_directory()


def cache_folder(options: Options, suffix: str) -> CacheFolder:
    """The entries of ``suffix`` in the folder of the options.  Where the options turn caches off, it stores
    nothing.
    """
    if not options.cache:
        return CacheFolder(None, suffix)
    shared = Path(options.shared_cache_dir) if options.shared_cache_dir is not None else None
    return CacheFolder(cache_directory(options), suffix, shared)


def check_cache_dir(options: Options) -> None:
    """Raises OptionError if ``cache_dir`` names anything other than a folder that is for the cache alone."""
    if options.cache_dir is None or not options.cache:
        return
    try:
        with open_folder(cache_directory(options)) as root:
            foreign = foreigner(root)
    except NotADirectoryError:
        raise OptionError(f"option 'cache_dir': {options.cache_dir} is no folder") from None
    except (OSError, Untrusted):
        return  # the folder is created later, or logged as unusable then
    if foreign is not None:
        where = cache_directory(options).resolve()
        raise OptionError(
            f"option 'cache_dir': {where} holds what the cache did not write ({foreign}): name a folder that "
            "is empty, or that does not exist yet"
        )
