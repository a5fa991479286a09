"""Pipelines as text: options and their types, errors, upstream passes, passes of other packages."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from idle_pass import Nothing

from fuse_mlir.passes import pipeline_text as pipelines
from fuse_mlir.passes import registry
from fuse_mlir.passes.pass_base import Count, Pass


@dataclass(frozen=True)
class Typed(Pass):
    """Has an option of every type."""

    name: ClassVar[str] = "typed"
    count: int = 4
    rate: float = 0.5
    name_of_it: str = "x"
    on: bool = False
    level: Literal["low", "high"] = "low"
    limit: int | None = None
    blocks: tuple[int, ...] = ()
    number: Count = 1


PASSES = {cls.name: cls for cls in (Nothing, Typed)}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("typed", Typed()),
        (
            "typed{count=7 rate=1e-3 name-of-it=a(b) on}",
            Typed(count=7, rate=1e-3, name_of_it="a(b)", on=True),
        ),
        ("typed{level=high limit=3 blocks=1,2,4}", Typed(level="high", limit=3, blocks=(1, 2, 4))),
        ("typed{limit=None blocks=}", Typed()),
        ("typed{count=-7 number=0}", Typed(count=-7, number=0)),
    ],
)
def test_options_have_the_types_of_their_fields(text: str, made: Typed) -> None:
    assert pipelines.parse_pipeline(f"builtin.module({text})", PASSES) == [made]
    assert pipelines.parse_pipeline(pipelines.pipeline_text([made]), PASSES) == [made]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("typed{count=x}", "option 'count' of pass 'typed' takes int, got 'x'"),
        ("typed{number=-1}", "option 'number' of pass 'typed' takes int at least 0, got '-1'"),
        ("typed{number=x}", "option 'number' of pass 'typed' takes int at least 0, got 'x'"),
        ("typed{count}", "option 'count' of pass 'typed' takes int, got nothing"),
        ("typed{level=mid}", "option 'level' of pass 'typed' takes low or high, got 'mid'"),
        ("typed{limit=many}", "option 'limit' of pass 'typed' takes int or None, got 'many'"),
        ("typed{blocks=1,x}", "option 'blocks' of pass 'typed' takes int, .., got '1,x'"),
        ("typed{count=1 count=2}", "option 'count' of pass 'typed' is given twice"),
        ("typed{cuont=1}", "pass 'typed' has no option 'cuont'; did you mean 'count'?"),
        ("nothing{zzz=1}", "pass 'nothing' has no option 'zzz'; it has none"),
        ("nothing,,typed", "the pipeline has an empty item: a comma too many"),
        ("typed{count=1", "the pipeline 'typed{count=1' ends before a '}'"),
        ("typed{count=1)", "unbalanced ')' at character 13 of the pipeline 'typed{count=1)'"),
        ("typed{count=1}x", "expected ',' after the options of pass 'typed', got 'typed{count=1}x'"),
        (
            "canonicalize{zzz=1}",
            "upstream's pass 'canonicalize' does not take the options of 'canonicalize{zzz=1}'",
        ),
        (
            "func.func(cse,nothing)",
            "pass 'nothing' runs on the module: write it outside 'func.func(cse,nothing)'",
        ),
        ("func.func(csf)", "unknown pass 'csf'; did you mean 'cse'?"),
    ],
)
def test_a_wrong_pipeline_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(pipelines.PipelineError) as caught:
        pipelines.parse_pipeline(text, PASSES)
    assert str(caught.value) == message


def test_upstream_passes_keep_their_text_and_have_a_short_name() -> None:
    text = "builtin.module(canonicalize{max-iterations=3},func.func(cse))"
    made = pipelines.parse_pipeline(text)
    assert pipelines.pipeline_text(made) == text
    assert [p.name for p in made] == ["canonicalize", "func.func(cse)"]


def test_every_pass_of_the_project_round_trips_through_text() -> None:
    made = [cls() for cls in registry.PASSES.values()]
    assert pipelines.parse_pipeline(pipelines.pipeline_text(made)) == made
    for cls in registry.PASSES.values():
        assert dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen, cls
        assert set(pipelines.option_types(cls)) == {f.name for f in dataclasses.fields(cls)}


@dataclass(frozen=True)
class EntryPoint:
    """Stands for a pass of another package."""

    name: str
    target: Any
    value: str = "package.module:Pass"

    def load(self) -> Any:
        return self.target


def test_other_packages_offer_passes() -> None:
    table = registry.all_passes([EntryPoint("nothing", Nothing)])
    assert table["nothing"] is Nothing
    assert list(table) == sorted([*registry.PASSES, "nothing"])


def test_another_package_cannot_take_a_name_in_use() -> None:
    with pytest.raises(ValueError, match="registers a second pass named plan-memory"):
        registry.all_passes([EntryPoint("plan-memory", Nothing)])


def test_what_another_package_offers_must_be_the_pass_it_names() -> None:
    table = registry.all_passes([EntryPoint("other", Nothing), EntryPoint("function", print)])
    with pytest.raises(registry.PluginError, match="expected to be the pass 'other', it is named 'nothing'"):
        table["other"]
    with pytest.raises(registry.PluginError, match="expected to be a pass"):
        table["function"]


def test_a_file_that_names_a_pass_is_one(tmp_path: Path) -> None:
    (tmp_path / "stage").mkdir()
    for name in ("stage/zeta", "stage/new_alpha", "stage/__init__", "stage/names", "manager"):
        is_pass = name in ("stage/zeta", "stage/new_alpha", "manager")
        named = f'    name: ClassVar[str] = "{Path(name).stem.replace("_", "-")}"\n' if is_pass else ""
        (tmp_path / f"{name}.py").write_text(f"class A:\n{named}    x = 'other'\n")
    found = registry.pass_modules(tmp_path)
    assert list(found.items()) == [("new-alpha", "stage.new_alpha"), ("zeta", "stage.zeta")]
