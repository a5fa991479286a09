"""Modules that import each other in a circle."""

from package_imports import imports_of


def circles(sources: dict[str, str]) -> list[tuple[str, ...]]:
    """The sets of modules each of which reaches the others by imports of any kind, sorted.

    They are the strongly connected components, found as by Tarjan (1972).
    """
    graph = {
        module: sorted({item.target for item in imports_of(module, sources)} & sources.keys())
        for module in sources
    }
    found: list[tuple[str, ...]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}  # the smallest number on the stack that a module reaches
    stack: list[str] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for target in graph[module]:
            if target not in number:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in stack:
                lowest[module] = min(lowest[module], number[target])
        if lowest[module] == number[module]:
            circle = stack[stack.index(module) :]
            del stack[-len(circle) :]
            if len(circle) > 1 or module in graph[module]:
                found.append(tuple(sorted(circle)))

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return sorted(found)


def cycles(sources: dict[str, str]) -> list[str]:
    """The circles of modules that import each other, each once: `a:1 imports b, b:3 imports a for typing`."""
    how = {"loading": "", "typing": " for typing", "running": " in a function"}
    found = []
    for circle in circles(sources):
        edges = {
            f"{module}:{item.line} imports {item.target}{how[item.when]}": None
            for module in circle
            for item in imports_of(module, sources)
            if item.target in circle
        }
        found.append(", ".join(edges))
    return found
