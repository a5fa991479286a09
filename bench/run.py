"""Command line of the benchmarks: `python -m fuse_mlir.bench.run --suite kernels --out kernels.json`.

Exit status: 0 if everything that ran was right, 1 if anything was wrong or failed or, with `--check-peaks`,
needed more memory than another backend, 2 for a wrong command line. Tasks skipped for lack of time are listed
and do not change it.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from .backends import BACKENDS
from .host import describe_host
from .jobs import run_shards
from .peaks import LIMIT, peaks_above
from .session import Session, device_is_healthy, load_results, replace_process, run_tasks
from .suites import SUITES, Settings
from .turns import Turns

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
BACKENDS_ON = {"cuda": ("eager", "inductor", "fuse"), "cpu": ("eager", "aot_eager")}
COMPILERS = ("aot_eager", "inductor", "fuse")
TASK_LIMIT = {
    "host": 200.0,
    "kernels": 120.0,
    "further": 120.0,
    "contractions": 300.0,
    "experts": 300.0,
    "attention": 300.0,
    "structured": 300.0,
    "wild": 180.0,
    "wild2": 180.0,
    "models": 400.0,
    "accuracy": 120.0,
    "launches": 180.0,
    "compile": 600.0,
    "user-kernels": 180.0,
    "templates": 180.0,
    "schedule": 400.0,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one suite; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    args = parser.parse_args(given)
    if args.jobs > 1 and (args.resume or args.shard != (1, 1)):
        parser.error("--jobs divides the tasks by itself: it takes no --shard and no --resume")
    if args.give_up is not None and args.jobs == 1:
        parser.error("--give-up ends processes of --jobs: --time-limit is for one process")
    device = torch.device(args.device)
    settings = _settings(args, device)
    suite = SUITES[args.suite]
    chosen = [task for task in suite.tasks(settings) if settings.chooses(task.key)]
    first, count = settings.shard
    chosen = chosen[first - 1 :: count]
    if args.list:
        print("\n".join(task.key for task in chosen))
        return 0
    if not chosen:
        parser.error("no task of the suite matches --only, --dtype and --backends")

    deadline = time.monotonic() + args.time_limit if args.time_limit is not None else None
    described = describe_host(device)
    if args.commit:
        described.update(commit=args.commit, modified=None)
    header = {
        "suite": args.suite,
        "backends": list(settings.backends),
        "small": settings.small,
        "command": ["python", "-m", f"{__package__}.run", *given],
        **described,
    }
    try:
        kept = load_results(args.out, args.suite) if args.resume and args.out else []
    except ValueError as error:
        parser.error(str(error))
    session = Session(header, args.out, deadline, results=kept)
    say = partial(print, flush=True)
    if args.jobs > 1:

        def keep(found: dict) -> None:
            results = found["results"]
            session.results = [results[task.key] for task in chosen if task.key in results]
            session.skipped = [task.key for task in chosen if task.key not in results]  # until they come
            session.write()

        shared = _without(given, ("--jobs", "--out", "--give-up"))
        run_shards(shared, min(args.jobs, len(chosen)), say, keep, args.give_up)
    else:
        if args.turns is not None:
            signal.signal(signal.SIGTERM, partial(_give_up, session, settings.turns))
        run_tasks(
            session,
            chosen,
            say=say,
            summarise=suite.line,
            task_limit=args.task_limit or TASK_LIMIT[args.suite],
            restart=partial(_restart, given, deadline) if args.out and device.type == "cuda" else None,
            healthy=device_is_healthy,
            together=settings.turns.together,
        )
    greedy = args.check_peaks and any(peaks_above(session.results, settings.backends))
    status = 1 if session.failed or greedy else 0
    if args.quiet:
        return status
    say(f"\n== {args.suite}: {_place(header)}")
    say(suite.table(session.results, settings.backends))
    if session.skipped:
        names = " ".join(session.skipped)[:600]
        say(f"{len(session.skipped)} of {len(chosen)} skipped for lack of time: {names}")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}.run", description="Checks and times compilers."
    )
    parser.add_argument("--suite", choices=SUITES, required=True)
    parser.add_argument("--out", type=Path, help="JSON file, written after every task")
    parser.add_argument(
        "--backends", type=_backends, help=f"comma-separated, the last is judged; of {', '.join(BACKENDS)}"
    )
    parser.add_argument(
        "--only", type=_words, default=(), help="comma-separated patterns or parts of task keys"
    )
    parser.add_argument("--dtype", type=_dtypes, help=f"comma-separated: {', '.join(DTYPES)}")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--samples", type=_positive, default=100, help="device-time samples per backend")
    parser.add_argument("--batch", type=_positive, default=8, help="batch of the models")
    parser.add_argument("--seed", type=int, default=0, help="seed of the kernels' arguments")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to try the machinery")
    parser.add_argument("--no-check", action="store_true", help="models: time without comparing with float64")
    parser.add_argument(
        "--check-peaks",
        action="store_true",
        help=f"fail if the last backend's peak of memory is above {LIMIT} times another's",
    )
    parser.add_argument(
        "--shard", type=_shard, default=(1, 1), metavar="I/N", help="every N-th task from the I-th"
    )
    parser.add_argument(
        "--jobs", type=_positive, default=1, metavar="N", help="N processes: compile together, time alone"
    )
    parser.add_argument("--turns", type=Path, metavar="FOLDER", help="of the processes that take turns")
    parser.add_argument("--quiet", action="store_true", help="no table at the end")
    parser.add_argument("--time-limit", type=float, metavar="S", help="start no task after S seconds")
    parser.add_argument(
        "--give-up", type=float, metavar="S", help="with --jobs: end what still compiles after S seconds"
    )
    parser.add_argument("--task-limit", type=float, metavar="S", help="a longer task counts as hung (GPU)")
    parser.add_argument("--resume", action="store_true", help="keep the results in --out, run the rest")
    parser.add_argument("--commit", help="commit to record, where the sources have no git repository")
    parser.add_argument("--list", action="store_true", help="print the task keys and stop")
    return parser


def _settings(args: argparse.Namespace, device: torch.device) -> Settings:
    return Settings(
        backends=args.backends or (COMPILERS if args.suite == "compile" else BACKENDS_ON[device.type]),
        device=device,
        only=args.only,
        dtypes=args.dtype,
        samples=args.samples,
        batch=args.batch,
        small=args.small,
        check=not args.no_check,
        shard=args.shard,
        seed=args.seed,
        turns=Turns(args.turns),
    )


def _restart(given: Sequence[str], deadline: float | None) -> None:
    """Go on in a fresh process with what is left of the time."""
    arguments = list(given)
    if "--resume" not in arguments:
        arguments.append("--resume")
    if deadline is not None:
        arguments += ["--time-limit", f"{max(deadline - time.monotonic(), 0.0):.1f}"]  # the last one counts
    replace_process(arguments)


def _give_up(session: Session, turns: Turns, number: int, frame: object) -> None:
    """End this process if it prepares; else let it time what it has, and begin nothing more."""
    session.deadline = time.monotonic()
    if turns.preparing:
        os._exit(1)


def _without(given: Sequence[str], options: Sequence[str]) -> list[str]:
    """The command line without options that take a value, in either spelling."""
    kept: list[str] = []
    words = iter(given)
    for word in words:
        if word in options:
            next(words, None)
        elif word.partition("=")[0] not in options:
            kept.append(word)
    return kept


def _place(header: dict) -> str:
    versions = " ".join(f"{name} {version}" for name, version in header["versions"].items())
    commit = (header["commit"] or "unknown")[:12]
    return f"{header['device']['name']}, {versions}, commit {commit}, {header['date']}"


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def _backends(text: str) -> tuple[str, ...]:
    return _known(text, BACKENDS, "backend")


def _dtypes(text: str) -> tuple[torch.dtype, ...]:
    return tuple(DTYPES[name] for name in _known(text, DTYPES, "dtype"))


def _known(text: str, table: object, what: str) -> tuple[str, ...]:
    words = _words(text)
    for word in words:
        if word not in table:  # type: ignore[operator]
            raise argparse.ArgumentTypeError(f"unknown {what} {word!r}; there are {', '.join(table)}")  # type: ignore
    return words


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def _shard(text: str) -> tuple[int, int]:
    first, _, count = text.partition("/")
    if not (first.isdigit() and count.isdigit() and 1 <= int(first) <= int(count)):
        raise argparse.ArgumentTypeError(f"must be I/N with 1 <= I <= N, got {text!r}")
    return int(first), int(count)


if __name__ == "__main__":
    sys.exit(main())
