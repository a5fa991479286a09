"""What is wrong with a command line, its streams or a plugin is one sentence, never a traceback."""

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from idle_pass import Nothing

from fuse_mlir.passes import registry
from fuse_mlir.passes.pass_base import Pass
from fuse_mlir.tools import fuse_opt, fuse_run

MODULE = "func.func private @f()\n"


@pytest.fixture
def file(tmp_path) -> str:
    path = tmp_path / "m.mlir"
    path.write_text(MODULE, encoding="utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code and what was written to stderr."""
    try:
        code = fuse_opt.main(list(arguments))
    except SystemExit as stopped:  # argparse
        code = stopped.code
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--verify-eech"], "unknown option '--verify-eech'; did you mean '--verify-each'?"),
        (["--verify-eech=off"], "unknown option '--verify-eech'; did you mean '--verify-each'?"),
        (["--pass-pipelin=cse"], "unknown option '--pass-pipelin'; did you mean '--pass-pipeline'?"),
        (["--pass-pipelin", "builtin.module(cse)"], "unknown option '--pass-pipelin'; did you mean '--pass-"),
        (["--mlir-timing"], "unknown option '--mlir-timing'; did you mean '--timing'?"),
        (["--default-pipline"], "unknown option '--default-pipline'; did you mean '--default-pipeline'?"),
        (["--fuse-vertica{max-ops=3}"], "unknown pass '--fuse-vertica{max-ops"),
        (["--fuse-vertica=max-ops=3"], "unknown pass '--fuse-vertica'; did you mean '--fuse-vertical'?"),
        (["--csee"], "unknown pass '--csee'; did you mean '--cse'?"),
        (["--zzzz"], "unknown option or pass '--zzzz'"),
        (["-verify-each=off"], "unknown option '-verify-each'; did you mean '--verify-each'?"),
        (["other.mlir"], "unexpected argument 'other.mlir'"),
        (["--default-pipeline", "--default-pipeline=tiled"], "--default-pipeline is given twice"),
        (["--pass-pipeline=cse", "--pass-pipeline=cse"], "--pass-pipeline is given twice"),
        (["-o", "a", "-o", "b"], "-o is given twice"),
        (["--cse", "--pass-pipeline=cse"], "'--pass-pipeline' and '--cse' cannot be used together"),
        (["--fuse-vertical=max-ops=-5"], "option 'max-ops' of pass 'fuse-vertical' takes int at"),
    ],
)  # fmt: skip
def test_a_wrong_command_line(capsys, file, arguments, said) -> None:
    code, error = run(capsys, file, *arguments)
    assert code == 2 and f"fuse-opt: error: {said}" in error


def test_passes_are_read_before_the_input_is(capsys) -> None:
    """A value that a misspelt option leaves behind is not taken for the name of the input."""
    code, error = run(capsys, "--pass-pipelin", "builtin.module(cse)")
    assert code == 2 and "unknown option '--pass-pipelin'" in error


@pytest.mark.parametrize(
    "arguments", [["--pass-pipeline=zzz"], ["--default-pipeline=tiled", "--pass-pipeline=cse"]]
)
def test_a_pipeline_is_what_runs(capsys, file, arguments) -> None:
    assert run(capsys, file, *arguments)[0] == 2
    assert run(capsys, file, "--pass-pipeline=builtin.module(cse)", "-o", os.devnull) == (0, "")


def test_options_that_may_come_again_do(capsys, file) -> None:
    assert (
        run(capsys, file, "--cse", "--mlir-print-ir-after=cse", "--mlir-print-ir-after=cse", "--cse")[0] == 0
    )


@pytest.mark.parametrize(
    ("tool", "shell", "code", "said"),
    [
        ("fuse_opt", "{tool} - <&-", 1, "error: cannot read '-': [Errno 9] Bad file descriptor"),
        ("fuse_opt", "{tool} {file} >&-", 1, "error: cannot write to stdout: Bad file descriptor"),
        (
            "fuse_opt",
            "{tool} {file} > /dev/full",
            1,
            "error: cannot write to stdout: No space left on device",
        ),
        ("fuse_opt", "{tool} {file}.none 2>&-", 1, ""),
        ("fuse_run", "{tool} - <&-", 1, "error: cannot read '-': [Errno 9] Bad file descriptor"),
        (
            "fuse_run",
            "{tool} {file} > /dev/full",
            1,
            "error: cannot write to stdout: No space left on device",
        ),
    ],
)
def test_closed_streams(tmp_path, tool, shell, code, said) -> None:
    """And what failed to be written is not tried again at the end of the process."""
    path = tmp_path / "m.mlir"
    path.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n")
    command = shell.format(tool=f"{sys.executable} -m fuse_mlir.tools.{tool}", file=path)
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr and done.stderr.count("\n") == bool(said)
    assert "error" not in done.stdout


@pytest.mark.parametrize("tool", [fuse_opt, fuse_run])
def test_a_bug_of_a_tool_is_one_sentence(capsys, monkeypatch, file, tool) -> None:
    def broken(*_: Any) -> Any:
        raise IndexError("of\nnothing")

    monkeypatch.setattr("fuse_mlir.tools._opt.read", broken)
    monkeypatch.setattr(fuse_run, "read", broken)
    name = tool.__name__.rpartition(".")[2].replace("_", "-")
    assert tool.main([file]) == 1
    assert capsys.readouterr().err == f"{name}: error: IndexError: of nothing; this is a bug of {name}\n"
    assert tool.main([file, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("tool", [fuse_opt, fuse_run])
def test_who_stops_a_tool_sees_no_traceback(capsys, monkeypatch, file, tool) -> None:
    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("fuse_mlir.tools._opt.read", stopped)
    monkeypatch.setattr(fuse_run, "read", stopped)
    assert tool.main([file]) == 130 and capsys.readouterr().err == ""


# --- plugins ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EntryPoint:
    """Stands for what the metadata of another package declares."""

    name: str
    target: Any
    value: str = "package.module:Pass"

    def load(self) -> Any:
        if isinstance(self.target, Exception):
            raise self.target
        return self.target


@dataclass(frozen=True)
class Demanding(Pass):
    """Has an option without a default, one of a type that no text spells, and a rule about a value."""

    name: ClassVar[str] = "demanding"
    needed: int
    odd: dict = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.needed > 3:
            raise ValueError("needed is at most 3")


@pytest.mark.parametrize(
    ("entry", "arguments", "said"),
    [
        (
            EntryPoint("broken", ImportError("no module named 'x'")),
            ["--broken"],
            "pass 'broken' of another package cannot be used: ImportError: no module named 'x'",
        ),
        (
            EntryPoint("broken", Nothing),
            ["--broken"],
            "TypeError: the entry point package.module:Pass is expected to be the pass 'broken'",
        ),
        (
            EntryPoint("plan-memory", Nothing),
            ["--nothing"],
            "the entry point package.module:Pass registers a second pass named plan-memory",
        ),
        (EntryPoint("plan-memory", Nothing), ["--list-passes"], "registers a second pass named plan-memory"),
        (EntryPoint("demanding", Demanding), ["--demanding"], "pass 'demanding' refuses its options: "),
        (EntryPoint("demanding", Demanding), ["--demanding=needed=4"], "options: needed is at most 3"),
        (
            EntryPoint("demanding", Demanding),
            ["--demanding=odd=4"],
            "option 'odd' of pass 'demanding' takes dict, got '4'",
        ),
    ],
)
def test_a_plugin_that_cannot_be_used(capsys, monkeypatch, file, entry, arguments, said) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    code, error = run(capsys, file, *arguments)
    assert code == 2 and error.startswith("fuse-opt: error: ") and said in error and error.count("\n") == 1
    assert run(capsys, file, "--plan-memory") == (0, ""), "the project's own passes need no plugin"


def test_a_plugin_that_cannot_be_imported_is_listed(capsys, monkeypatch) -> None:
    entry = EntryPoint("broken", ImportError("no module named 'x'"))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    assert fuse_opt.main(["--list-passes"]) == 0
    assert "--broken\n      cannot be imported: " in capsys.readouterr().out
    assert isinstance(registry.PluginError(), ValueError)  # what `options={"pipeline": ..}` says of it


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fuse-opt --fuse-vert", {"--fuse-vertical"}),
        ("fuse-opt --verify-e", {"--verify-each"}),
        ("fuse-opt --verify-each ", {"on", "off", "numeric"}),
        ("fuse-opt --default-pipeline pl", {"planned"}),
        ("fuse-opt --mlir-print-ir-after choose-t", {"choose-tiling"}),
        ("fuse-run --comp", {"--compare"}),
    ],
)
def test_a_shell_completes_options_passes_and_what_options_take(line, expected, tmp_path, monkeypatch):
    """As the function that argcomplete gives a shell asks: by variables, and the answer into a file."""
    pytest.importorskip("argcomplete")
    tool, answer = (fuse_opt if line.startswith("fuse-opt") else fuse_run), tmp_path / "answer"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    for name, value in {**asked, "COMP_LINE": line, "COMP_POINT": str(len(line))}.items():
        monkeypatch.setenv(name, value)
    child = os.fork()  # argcomplete closes files, and ends the process
    if child == 0:
        try:
            tool.main([])
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert {text.strip() for text in answer.read_text().split("\n")} == expected


@pytest.mark.parametrize("tool", [fuse_opt, fuse_run])
def test_the_version_names_the_tool_and_mlir(tool, capsys) -> None:
    with pytest.raises(SystemExit, match="0"):
        tool.main(["--version"])
    name = tool.__name__.rpartition(".")[2].replace("_", "-")
    assert capsys.readouterr().out.startswith(f"{name} of fuse-mlir 0.1.0, with the MLIR of torch-mlir 2")
