"""``python -m fuse_mlir.report``: see ``tools/_compare.py``."""

import sys

from .tools._compare import main

if __name__ == "__main__":
    sys.exit(main())
