"""The logger ``fuse_mlir.logs.remarks``: the remarks of each graph, as text."""

import logging

log = logging.getLogger(__name__)
