"""Models, an accuracy harness and benchmarks for any `torch.compile` backend."""
