"""Entries of the cache in torch's portable cache (``torch.compiler.save_cache_artifacts``).

Every entry that a process has read or written goes along.  What ``load_cache_artifacts`` was given is kept in
memory, and looked up where no folder has an entry.  An entry says by its checksum whether it is whole, there
as in a folder.
"""

from torch.compiler._cache import CacheArtifact, CacheArtifactFactory, CacheArtifactManager

from .cache_folder import LOADED, RECORDERS

_KIND = "fuse_mlir"


@CacheArtifactFactory.register
class CacheEntryArtifact(CacheArtifact):
    """One entry.  key: its file's name.  content: its bytes."""

    def populate_cache(self) -> None:
        """Makes the entry known to this process."""
        LOADED[self.key] = self.content

    @staticmethod
    def type() -> str:
        """As torch names the kind: ``CacheInfo.fuse_mlir_artifacts``."""
        return _KIND


def _record(name: str, data: bytes) -> None:
    CacheArtifactManager.record_artifact(_KIND, name, data)


RECORDERS.append(_record)
