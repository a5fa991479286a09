"""FX output: a launch plan as a ``torch.fx.GraphModule`` that runs.

``make_module.py`` makes it from the plan (``graph_maker.py``, ``control_flow.py``, ``extern_nodes.py``,
``sizes.py``, ``fake_values.py``); ``operators.py`` defines the ops of ours that its nodes call, and
``kernels.py`` knows what each kernel's name in a node means.  Only the driver imports this package, and only
where FX output is asked for; it knows plans, and neither MLIR nor Triton.
"""
