"""``python -m fuse_mlir.cache``: see ``tools/_cache.py``."""

import sys

from .tools._cache import main

if __name__ == "__main__":
    sys.exit(main())
