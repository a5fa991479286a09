"""A package that gives fuse-mlir one more pass; see `pyproject.toml` for the line that registers it."""
