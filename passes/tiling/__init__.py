"""Passes that cut kernels into tiles, write tile code, and hand it to Triton."""
