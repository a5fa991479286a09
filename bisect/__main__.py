"""``python -m fuse_mlir.bisect``: see ``tools/_bisect.py``.

This is no module ``bisect.py``, nor has the folder an ``__init__.py``: where Python runs in the root of the
repository, either would stand before Python's own module of that name.
"""

import sys

from ..tools._bisect import main

if __name__ == "__main__":
    sys.exit(main())
