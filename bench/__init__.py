"""Models, an accuracy harness and benchmarks for any `torch.compile` backend. Not part of the installed compiler."""
