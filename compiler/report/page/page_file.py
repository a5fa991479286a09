"""The file of ``options={"report": "out.html"}``: one page, which needs no network.

A process writes all graphs that name the file into it, anew with each graph.  A graph is JSON in the page,
compressed (``data.py`` says what its names mean); the scripts beside this file show it.  In a job of several
processes the rank is part of the file's name.
"""

import base64
import gzip
import json
import os
import re
import threading
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from ...base.options import OptionError
from ...base.versions import distribution
from ..rank import rank_in_job
from .data import VERSION

#: How a page begins; one that begins otherwise is somebody else's.
MARK = "<!DOCTYPE html><!-- report of fuse-mlir -->"
#: In the order in which they use each other.
_SCRIPTS = ("elements", "table", "beside", "pictures", "launch", "graph", "comparison", "start")
_HEAD = re.compile(r'<script type="application/json" id="data">(.*?)</script>')
_GRAPH = re.compile(r'<script type="application/gzip" class="graph">(.*?)</script>')

_PACKED: dict[Path, list[str]] = defaultdict(list)
_LOCK = threading.Lock()


def place_of(path: str | Path, asked: str = "option 'report'") -> Path:
    """Where this process writes its page.  asked: by what, for errors.  Raises ``OptionError`` where there is
    something that is no report, or no file can be made.
    """
    place = Path(path).absolute()
    rank = rank_in_job()
    if rank is not None:
        place = place.with_name(f"{place.stem}-rank{rank}{place.suffix}")
    if not place.parent.is_dir():
        raise OptionError(f"{asked}: there is no folder '{place.parent}'")
    try:
        if place.is_symlink() or (place.exists() and not _is_ours(place)):
            raise OptionError(f"{asked}: '{place}' is not a report of fuse-mlir and stays: name another file")
    except OSError as error:
        raise OptionError(f"{asked}: cannot read '{place}': {error.strerror}") from None
    return place


def add_graph(path: str | Path, graph: Mapping[str, Any]) -> None:
    """Adds a graph to the page of this process, and writes the page whole or not at all.  Raises
    ``OptionError`` as ``place_of``.
    """
    packed = _packed(graph)
    with _LOCK:
        place = place_of(path)
        _PACKED[place].append(packed)
        _write(place, _page(_PACKED[place]))


def write_page(place: Path, graphs: Sequence[Mapping[str, Any]]) -> None:
    """Writes a page whole or not at all.  Raises ``OptionError``."""
    _write(place, page(graphs))


def write_comparison(place: Path, names: Sequence[str], graphs: Sequence[Mapping[str, Any]]) -> None:
    """Writes a page that compares two reports, as ``write_page``.  graphs: as ``comparison`` gives them."""
    _write(place, _page([_packed(graph) for graph in graphs], {"compares": names}))


def page(graphs: Sequence[Mapping[str, Any]]) -> str:
    """The text of a page."""
    return _page([_packed(graph) for graph in graphs])


def read_graphs(text: str) -> list[dict[str, Any]]:
    """The graphs of a page.  Raises ``ValueError`` for what is no page of this version."""
    head = _HEAD.search(text) if text.startswith(MARK) else None
    if head is None:
        raise ValueError("it is not a report of fuse-mlir")
    facts = json.loads(head[1])
    version = facts["version"]
    if "compares" in facts:
        raise ValueError("it compares two reports, and is none itself")
    if version != VERSION:
        raise ValueError(f"it is a report of version {version}; this fuse-mlir reads version {VERSION}")
    try:
        return [json.loads(gzip.decompress(base64.b64decode(packed))) for packed in _GRAPH.findall(text)]
    except (ValueError, EOFError, OSError, zlib.error):
        raise ValueError("the data of a graph is damaged") from None


def _packed(graph: Mapping[str, Any]) -> str:
    return _compressed(json.dumps(graph, separators=(",", ":")).encode())


def _compressed(text: bytes) -> str:
    return base64.b64encode(gzip.compress(text, compresslevel=6, mtime=0)).decode()


@cache
def _library() -> str:
    """The scripts of Bokeh that draw pictures, out of the installed package; "" where there is none."""
    bokeh = find_spec("bokeh")
    if bokeh is None or bokeh.origin is None:
        return ""
    folder = Path(bokeh.origin).parent / "server" / "static" / "js"
    parts = [_compressed((folder / name).read_bytes()) for name in ("bokeh.min.js", "bokeh-api.min.js")]
    return "\n".join(f'<script type="application/gzip" class="library">{part}</script>' for part in parts)


def _page(packed: Sequence[str], facts: Mapping[str, Any] = MappingProxyType({})) -> str:
    head = json.dumps({"version": VERSION, "versions": _versions(), **facts}).replace("<", "\\u003c")
    data = [f'<script type="application/json" id="data">{head}</script>']
    data += [f'<script type="application/gzip" class="graph">{graph}</script>' for graph in packed]
    library = "" if "compares" in facts else _library()
    return MARK + _template().replace("@LIBRARY@", library).replace("@DATA@", "\n".join(data))


def _versions() -> dict[str, str]:
    """Of what the compiler uses."""
    installed = {name: distribution(name) for name in ("torch", "Triton")}
    return {name: found.version for name, found in installed.items() if found is not None}


@cache
def _template() -> str:
    """The page without its data."""
    folder = Path(__file__).parent
    style, frame = ((folder / name).read_text(encoding="utf-8") for name in ("style.css", "page.html"))
    scripts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    return "\n" + frame.replace("@STYLE@", style).replace("@SCRIPT@", "\n".join(scripts))


def _write(place: Path, text: str) -> None:
    """The file has all of the text, or what it had before."""
    beside = place.with_name(f".{place.name}.{uuid4().hex}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, place)
    except OSError as error:
        raise OptionError(f"cannot write the report '{place}': {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


def _is_ours(place: Path) -> bool:
    if not place.is_file():
        return False
    with place.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()
