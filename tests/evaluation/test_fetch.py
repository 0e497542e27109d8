"""Fetching benchmark data: real git from repositories on this disk, laid out as the authors' are."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import UpstreamError, UsageError
from rightcall.evaluation import fetch as fetching
from rightcall.evaluation.benchmarks.registry import load_suite
from rightcall.evaluation.fetch import SOURCES, GitFiles, WheelFiles, fetch


def _rows(path: Path) -> list[dict[str, Any]]:
    packed = path.with_name(path.name + ".gz")
    text = path.read_text(encoding="utf-8") if path.exists() else gzip.decompress(packed.read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def _git(folder: Path, *arguments: str) -> str:
    env = {
        **os.environ,
        **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(["git", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=True)  # noqa: S607
    return done.stdout.strip()


def _published(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits what lies in `folder` and has the benchmark fetched from a bare clone of it, one commit behind."""
    _git(folder, "init", "--quiet")
    _git(folder, "add", ".")
    _git(folder, "commit", "--quiet", "-m", "as published")
    commit = _git(folder, "rev-parse", "HEAD")
    _git(folder, "rm", "--quiet", "LICENSE" if (folder / "LICENSE").exists() else "api-bank/LICENSE")
    _git(folder, "commit", "--quiet", "-m", "changed since")
    bare = folder.with_name(f"{folder.name}.git")
    _git(folder, "clone", "--quiet", "--bare", ".", str(bare))
    for setting in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        _git(bare, "config", setting, "true")
    source = SOURCES[name]
    assert isinstance(source, GitFiles)
    monkeypatch.setitem(SOURCES, name, replace(source, url=bare.as_uri(), commit=commit))


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _rotbench(tree: Path, data: Path) -> None:
    _write(tree / "LICENSE", "terms")
    _write(tree / "Code" / "evaluate.py", "raise SystemExit")
    for packed in (data / "rotbench").glob("*_Turn/*.json.gz"):
        _write(tree / "Data" / packed.parent.name / packed.stem, gzip.decompress(packed.read_bytes()))


def _metatool(tree: Path, data: Path) -> None:
    """The files of the original; the two that are not in our data are put together in the form of the others."""
    folder = data / "metatool"
    _write(tree / "LICENSE", "terms")
    for name in ("plugin_des.json", "big_tool_des.json", "plugin_info.json"):
        _write(tree / "dataset" / name, (folder / name).read_bytes())
    printed = {row["name"]: row["description_as_printed"] for row in _rows(folder / "tools.jsonl")}
    for number, task in enumerate(("similar", "scenario", "reliability", "multi_tool"), start=1):
        path = tree / "dataset" / "tmp_dataset" / f"Task2-Subtask{number}.json"
        original = folder / f"{path.name}.gz"
        if original.exists():
            _write(path, gzip.decompress(original.read_bytes()))
            continue
        prompts = []
        for row in _rows(folder / f"{task}.jsonl"):
            listed = "".join(
                f"{index}. tool name: {name}, tool description: {printed[name]}\n"
                for index, name in enumerate(row["candidates"], start=1)
            )
            more = {"scenario": row["scenario"]} if "scenario" in row else {}
            prompt = f"Choose one tool.\n{row['query']}\n[List Start]\n{listed}\n[List End]"
            prompts.append({"action_prompt": prompt, "query": row["query"], "tool": row["tool"], **more})
        _write(path, json.dumps(prompts))


def _apibank(tree: Path, data: Path) -> None:
    folder, bank = data / "apibank", tree / "api-bank"
    _write(bank / "LICENSE", "terms")
    for level, name in (("level-1", "level-1-given-desc"), ("level-2", "level-2-toolsearcher")):
        for row in _rows(folder / f"{level}.jsonl"):
            lines = "".join(json.dumps(turn) + "\n" for turn in row["turns"])
            _write(bank / "lv1-lv2-samples" / name / row["file"], lines)
    _write(bank / "apis" / "__init__.py", "")
    _write(bank / "apis" / "api.py", "class API:\n    description = None\n")
    for row in _rows(folder / "apis.jsonl"):
        if row["set"] != "apis":
            continue
        middle = len(row["description"]) // 2
        texts = [row["description"][:middle], row["description"][middle:]]
        lines = [
            "from apis.api import API",
            "raise SystemExit('conversion must not run this')",
            f"class {row['name']}(API):",
            f"    description = {texts[0]!r} + {texts[1]!r}",
            *(f"    {key} = {row[key]!r}" for key in row if key.endswith("_parameters")),
            *([f"    database_name = {row['database_name']!r}"] if "database_name" in row else []),
            "    def call(self): ...",
        ]
        _write(bank / "apis" / row["file"], "\n".join(lines))


def test_rotbench_is_fetched_as_it_is(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _rotbench(tmp_path / "origin", shared / "data")
    _published(tmp_path / "origin", "rotbench", monkeypatch)
    folder = fetch("rotbench", tmp_path / "cache")
    assert folder == tmp_path / "cache" / "rotbench"
    assert sorted(path.name for path in folder.iterdir()) == ["First_Turn", "LICENSE", "Third_Turn"]
    for packed in (shared / "data" / "rotbench").glob("*_Turn/*.json.gz"):
        assert (folder / packed.parent.name / packed.stem).read_bytes() == gzip.decompress(packed.read_bytes())
    assert len(list(load_suite("rotbench:union:multi", tmp_path / "cache").cases())) == 70


def test_metatool_is_read_from_its_prompts(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _metatool(tmp_path / "origin", shared / "data")
    _published(tmp_path / "origin", "metatool", monkeypatch)
    folder = fetch("metatool", tmp_path / "cache")
    for name in ("similar", "scenario", "reliability", "multi_tool", "tools"):
        wanted = _rows(shared / "data" / "metatool" / f"{name}.jsonl")
        kept = _rows(folder / f"{name}.jsonl")
        left_out = {"examples", "query_status", "query_alternative", "description_as_printed"}
        assert kept == [{key: row[key] for key in row if key not in left_out} for row in wanted]
    assert len(list(load_suite("metatool:similar", tmp_path / "cache").cases())) == 995


def test_apibank_is_read_without_running_its_code(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _apibank(tmp_path / "origin", shared / "data")
    _published(tmp_path / "origin", "apibank", monkeypatch)
    folder = fetch("apibank", tmp_path / "cache")
    for level in ("level-1", "level-2"):
        assert _rows(folder / f"{level}.jsonl") == _rows(shared / "data" / "apibank" / f"{level}.jsonl")
    wanted = [row for row in _rows(shared / "data" / "apibank" / "apis.jsonl") if row["set"] == "apis"]
    assert _rows(folder / "apis.jsonl") == wanted
    here, there = (load_suite("apibank:level-2", place) for place in (tmp_path / "cache", shared / "data"))
    assert [case.id for case in here.cases()] == [case.id for case in there.cases()]


def test_fetching_again_replaces_what_is_there_and_leaves_nothing_else(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _rotbench(tmp_path / "origin", shared / "data")
    _published(tmp_path / "origin", "rotbench", monkeypatch)
    old = tmp_path / "cache" / "rotbench" / "old.json"
    _write(old, "{}")
    fetch("rotbench", tmp_path / "cache")
    assert not old.exists()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["rotbench"]


def test_what_fails_leaves_the_old_data(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _rotbench(tmp_path / "origin", shared / "data")
    (tmp_path / "origin" / "Data" / "First_Turn" / "clean.json").unlink()
    _published(tmp_path / "origin", "rotbench", monkeypatch)
    _write(tmp_path / "cache" / "rotbench" / "old.json", "{}")
    with pytest.raises(UpstreamError, match="not as expected"):
        fetch("rotbench", tmp_path / "cache")
    source = SOURCES["rotbench"]
    assert isinstance(source, GitFiles)
    monkeypatch.setitem(SOURCES, "rotbench", replace(source, commit="0" * 40))
    with pytest.raises(UpstreamError, match=r"git fetch failed: .*Check the network"):
        fetch("rotbench", tmp_path / "cache")
    assert [str(path.relative_to(tmp_path / "cache")) for path in (tmp_path / "cache").rglob("*.json")] == [
        str(Path("rotbench") / "old.json")
    ]


def test_prompts_without_candidates_are_refused(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _metatool(tmp_path / "origin", shared / "data")
    broken = [{"action_prompt": "Choose.", "query": "q", "tool": "t"}]
    _write(tmp_path / "origin" / "dataset" / "tmp_dataset" / "Task2-Subtask1.json", json.dumps(broken))
    _published(tmp_path / "origin", "metatool", monkeypatch)
    with pytest.raises(UpstreamError, match="the prompt of similar_0 lists no candidates"):
        fetch("metatool", tmp_path / "cache")


def test_bfcl_is_read_from_the_wheel_and_the_wheel_is_checked(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "bfcl_eval-1.0-py3-none-any.whl"
    data = shared / "data" / "bfcl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in data.rglob("BFCL_v4_*"):
            content = path.read_bytes()
            packed = path.suffix == ".gz"
            name = path.relative_to(data).as_posix().removesuffix(".gz")
            archive.writestr(f"bfcl_eval/data/{name}", gzip.decompress(content) if packed else content)
        archive.writestr("bfcl_eval-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: bfcl-eval\nVersion: 1.0\n")
        archive.writestr("bfcl_eval-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("bfcl_eval-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    source = SOURCES["bfcl"]
    assert isinstance(source, WheelFiles)
    monkeypatch.setitem(SOURCES, "bfcl", replace(source, version="1.0"))
    with pytest.raises(UpstreamError, match=r"sha256 .* is needed"):
        fetch("bfcl", tmp_path / "cache")
    digest = fetching.hashlib.sha256(wheel.read_bytes()).hexdigest()
    monkeypatch.setitem(SOURCES, "bfcl", replace(source, version="1.0", sha256=digest))
    folder = fetch("bfcl", tmp_path / "cache")
    assert len(list(folder.rglob("*.json"))) == 19
    assert (folder / "BFCL_v4_multiple.json").read_bytes() == (data / "BFCL_v4_multiple.json").read_bytes()
    assert len(list(load_suite("bfcl:live_irrelevance", tmp_path / "cache").cases())) == 884


def test_without_git_it_is_said_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs git"):
        fetch("rotbench", tmp_path / "cache")


def test_an_unknown_name_is_told_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'metatool'\? There are: bfcl, metatool, rotbench, apibank"):
        fetch("metatols", tmp_path)
