"""The page of ``options={"report": "out.html"}``: one file, which needs no network.

A process writes all graphs that name the page into it, anew with each graph.  The data is JSON in the page
(``html_data.py``); the script in ``html_template.py`` shows it.  In a job of several processes the rank is
part of the file's name.
"""

import json
import os
import threading
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch

from ..base.options import OptionError
from .html_data import page_data
from .html_template import TEMPLATE
from .rank import rank_in_job

#: How a page begins; one that begins otherwise is somebody else's.
MARK = "<!DOCTYPE html><!-- report of fuse-mlir -->"
_DATA = "@DATA@"

_GRAPHS: dict[Path, list[Mapping[str, Any]]] = defaultdict(list)
_LOCK = threading.Lock()


def place_of(path: str | Path) -> Path:
    """Where this process writes its page.  Raises ``OptionError`` where something is there that is no report,
    or no file can be made.
    """
    place = Path(path).absolute()
    rank = rank_in_job()
    if rank is not None:
        place = place.with_name(f"{place.stem}-rank{rank}{place.suffix}")
    if not place.parent.is_dir():
        raise OptionError(f"option 'report': there is no folder '{place.parent}'")
    try:
        if place.is_symlink() or (place.exists() and not _is_ours(place)):
            raise OptionError(
                f"option 'report': '{place}' is not a report of fuse-mlir and stays: name another file"
            )
    except OSError as error:
        raise OptionError(f"option 'report': cannot read '{place}': {error.strerror}") from None
    return place


def add_graph(path: str | Path, graph: Mapping[str, Any]) -> None:
    """Adds a graph to the page of this process, and writes the page whole or not at all.  Raises
    ``OptionError`` as ``place_of``.
    """
    with _LOCK:
        place = place_of(path)
        _GRAPHS[place].append(graph)
        text = page(_GRAPHS[place])
        beside = place.with_name(f".{place.name}.{uuid4().hex}")
        try:
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, place)
        except OSError as error:
            raise OptionError(f"option 'report': cannot write '{place}': {error.strerror}") from None
        finally:
            beside.unlink(missing_ok=True)


def page(graphs: list[Mapping[str, Any]]) -> str:
    """The text of a page."""
    data = json.dumps(page_data(graphs, {"torch": torch.__version__}), separators=(",", ":"))
    return MARK + TEMPLATE.replace(_DATA, data.replace("<", "\\u003c"))


def _is_ours(place: Path) -> bool:
    if not place.is_file():
        return False
    with place.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()
