"""Graphs as the page of option ``report`` has them, without a compilation."""


def graph(name: str, us: list[float], **more: object) -> dict:
    """A graph with a launch for each time, as ``graph_data`` has it."""
    launches = [
        {
            "name": f"kernel_{number}",
            "kind": "kernel",
            "nodes": [f"node_{number}"],
            "lines": [f"/home/me/model.py:{number + 1}"],
            "us": time,
            "tile": "",
            "choices": [],
            "bytes": 1000 * number,
            "held": 8 << number,
            "reads": [0],
            "writes": [number + 1],
        }
        for number, time in enumerate(us)
    ]
    buffers = [{"name": "argument 0", "kind": "argument", "bytes": 8, "first": 0, "last": len(us) - 1}]
    buffers += [
        {
            "name": f"node_{n}",
            "kind": "temporary",
            "bytes": 8 << n,
            "first": n,
            "last": min(n + 1, len(us) - 1),
        }
        for n in range(len(us))
    ]
    return {
        "name": name,
        "hardware": "h100",
        "cached": False,
        "launches": launches,
        "buffers": buffers,
        "missed": [],
        "remarks": [],
        "timing": {"seconds": 0.5, "passes": {"seconds": 0.4, "fuse-vertical": {"seconds": 0.3}}},
        "functions": {f"kernel_{n}": f"func.func private @kernel_{n}() <b>" for n in range(len(us))},
        "levels": {
            "graph": {"main": call("add", 1), "add": 'func.func private @add() loc("add"("a.py":1:0))'},
            "scheduled": {
                "main": "\n".join(call(f"kernel_{n}", n) for n in range(len(us))),
                **{f"kernel_{n}": f"func.func private @kernel_{n}() <b>\n{op(n)}" for n in range(len(us))},
            },
        },
        "sources": {"/home/me/model.py": "\n".join(f"line {n + 1} <i>" for n in range(90))},
        "source": "",
        "kernels": {},
        **more,
    }


def call(name: str, number: int) -> str:
    """A call as ``@main`` has it, of an FX node with a line of the program."""
    place = f'fused["node_{number}"("/home/me/model.py":{number + 1}:0), "x)"("/home/me/model.py":7:0)]'
    return f"  %{number} = call @{name}() : () -> f32 loc({place})"


def op(number: int) -> str:
    return f'  %0 = math.exp %1 : f32 loc("node_{number}"("/home/me/model.py":{number + 1}:0))'


def missed(us: float, *ops: str) -> dict:
    return {
        "us": us,
        "bytes": 4096,
        "pass": "fuse-vertical",
        "rule": "cycle",
        "message": f"{' and '.join(ops)} stay apart",
        "ops": list(ops),
        "lines": ["/home/me/model.py:7"],
    }
