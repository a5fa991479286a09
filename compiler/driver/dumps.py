"""The folders of ``options={"dump": ..}``: one for each graph, never written to again, and a page on them.

::

    out/index.html             what is there; written anew with each graph
    out/forward-0/             NAME-NUMBER: the first forward graph that was dumped to out
    out/backward-0/
    out/forward-1/             another model, a recompilation, another run of the program
    out/inference-rank3-0/     in a job of several processes the rank as well
"""

import html
import logging
import os
import re
from itertools import count
from pathlib import Path
from uuid import uuid4

from ..base.options import OptionError
from ..report.rank import rank_in_job

log = logging.getLogger(__name__)

INDEX = "index.html"
#: What a graph's folder says of it, in one line.
ABOUT = "about.txt"
#: How the page begins; one that begins otherwise is somebody else's.
_MARK = "<!DOCTYPE html><!-- written by fuse-mlir for the graphs dumped beside it -->"
_FOLDER = re.compile(r"(?P<name>\w+?)(?:-rank(?P<rank>\d+))?-(?P<number>\d+)")


def new_folder(root: Path, name: str) -> Path:
    """Makes the folder of one graph in ``root``, ``name`` with the next number that no folder has, whatever
    other processes do.  Raises OptionError where none can be made.
    """
    rank = rank_in_job()
    stem = name if rank is None else f"{name}-rank{rank}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        ends = [p.name.removeprefix(f"{stem}-") for p in root.glob(f"{stem}-*")]
        for number in count(max((int(end) for end in ends if end.isdecimal()), default=-1) + 1):
            try:
                (root / f"{stem}-{number}").mkdir()
            except FileExistsError:  # another process was faster
                continue
            return root / f"{stem}-{number}"
    except OSError as error:
        raise OptionError(f"option 'dump': cannot write to folder '{root}': {error.strerror}") from None
    raise AssertionError("numbers do not end")


def describe(folder: Path, text: str) -> None:
    """Says what the graph in ``folder`` is, a line of text, and lists it in the page beside the folder."""
    (folder / ABOUT).write_text(text + "\n", encoding="utf-8")
    write_index(folder.parent)


def write_index(root: Path) -> None:
    """Writes the page that lists the graphs in ``root``, of other processes, too; a page that was not written
    here stays.
    """
    page = root / INDEX
    if page.exists() and not page.read_text(encoding="utf-8", errors="replace").startswith(_MARK):
        log.warning("%s was not written by fuse-mlir and stays as it is: the dumps have no index", page)
        return
    folders: list[Path] | None = None
    while folders != (found := _folders(root)):  # until nobody adds one while the page is written
        folders = found
        temporary = root / f".{INDEX}-{uuid4().hex}"
        temporary.write_text(_page(folders), encoding="utf-8")
        os.replace(temporary, page)


def _page(folders: list[Path]) -> str:
    rows = "\n".join(map(_row, folders))
    head = "<tr><th>graph</th><th>what it is</th><th>files</th></tr>"
    return f"{_MARK}\n<title>Dumped graphs</title>\n<table>\n{head}\n{rows}\n</table>\n"


def _row(folder: Path) -> str:
    about = folder / ABOUT
    text = about.read_text(encoding="utf-8").strip() if about.exists() else "not compiled to the end"
    links = ", ".join(
        f'<a href="{html.escape(folder.name)}/{html.escape(p.name)}">{html.escape(p.name)}</a>'
        for p in sorted(folder.iterdir())
        if p.name != ABOUT
    )
    return f"<tr><td>{html.escape(folder.name)}</td><td>{html.escape(text)}</td><td>{links}</td></tr>"


def _folders(root: Path) -> list[Path]:
    """The folders of graphs, by rank, number and name: in a process, about in the order of compilation."""
    found = [(match, p) for p in root.iterdir() if (match := _FOLDER.fullmatch(p.name)) and p.is_dir()]
    return [p for m, p in sorted(found, key=lambda f: (int(f[0]["rank"] or 0), int(f[0]["number"]), f[1]))]
