"""``python -m fuse_mlir.minify``: see ``tools/_minify.py``."""

import sys

from .tools._minify import main

if __name__ == "__main__":
    sys.exit(main())
