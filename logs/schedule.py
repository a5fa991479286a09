"""The logger ``fuse_mlir.logs.schedule``: each launch of a graph in order, with its nodes and lines."""

import logging

log = logging.getLogger(__name__)
