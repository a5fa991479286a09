"""A run of tasks: failures, hangs, deadlines, restarts and what is recorded."""

import json
import time

from fuse_mlir.bench.session import Session, Task, error_text, run_tasks, strict_json


def play(tasks, tmp_path, **settings):
    session = Session({"suite": "x"}, tmp_path / "s.json", **settings.pop("session", {}))
    said = []
    run_tasks(session, tasks, say=said.append, summarise=lambda record: record["key"], **settings)
    return session, said


def failing(stage):
    stage("lowering")
    raise ValueError("a bad thing")


def test_one_failure_does_not_end_the_run(tmp_path):
    session, said = play(
        [Task("bad", failing), Task("good", lambda stage: {"value": float("inf")})], tmp_path
    )
    assert said == ["bad", "good"] and session.failed == ["bad"]
    written = json.loads((tmp_path / "s.json").read_text())
    assert written["results"][1]["value"] == "inf"
    failure = written["results"][0]["failures"][0]
    assert (
        failure.startswith("lowering: ValueError: a bad thing [test_bench_session.py:")
        and "failing" in failure
    )


def test_no_task_starts_after_the_deadline(tmp_path):
    session, _ = play([Task("late", failing)], tmp_path, session={"deadline": time.monotonic() - 1})
    assert session.skipped == ["late"] and not session.results and not session.failed


def test_resuming_keeps_results(tmp_path):
    kept = [{"key": "bad", "failures": []}]
    session, said = play(
        [Task("bad", failing), Task("new", lambda stage: {})], tmp_path, session={"results": kept}
    )
    assert said == ["new"] and not session.failed


def test_a_hung_task_is_recorded_before_the_restart(tmp_path):
    restarts = []

    def hang(stage):
        stage("fuse: first call")
        while not restarts:
            time.sleep(0.01)
        return {}

    def restart():
        written = json.loads((tmp_path / "s.json").read_text())
        restarts.append(written["results"][0]["failures"])

    play([Task("hang", hang)], tmp_path, task_limit=0.05, restart=restart)
    assert restarts == [["hung for 0 s in: fuse: first call"]]


def test_an_unusable_device_restarts_or_ends_the_run(tmp_path):
    tasks = [Task("breaks", failing), Task("next", lambda stage: {})]
    session, said = play(tasks, tmp_path, healthy=lambda: False)
    assert session.skipped == ["next"] and "unusable after breaks" in said[-1]
    restarts = []
    play(tasks, tmp_path, healthy=lambda: False, restart=lambda: restarts.append(1))
    assert len(restarts) == 2


def test_error_text_is_cut_and_json_strict():
    try:
        raise RuntimeError("x" * 5000)
    except RuntimeError as error:
        assert len(error_text(error)) < 1200
    assert strict_json({1: (float("nan"), 2.0)}) == {"1": ["nan", 2.0]}
