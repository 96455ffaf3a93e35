"""The house keeps its word: what the README says exists, and nothing of one machine is in here."""

from __future__ import annotations

import gzip
import importlib
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

pytest_plugins = "pytester"

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SCRIPTS = PROJECT["project"]["scripts"]

# top-level folders that any page may name without meaning this machine
COMMON = {Path("/"), *map(Path, ("/home", "/mnt", "/opt", "/srv", "/tmp", "/usr", "/var"))}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_one_version_and_hashes(lock: str) -> None:
    requirements = read(lock).replace("\\\n", " ").splitlines()

    assert requirements
    assert [] == [line for line in requirements if not is_locked(line)]


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_an_address(lock: str) -> None:
    assert [] == re.findall(r".*(?:://|--(?:extra-)?index|--find-links|@ ).*", read(lock))


def test_every_published_view_is_named_where_names_are_promised() -> None:
    told = read("docs/interfaces.md")
    views = {path.stem for path in (ROOT / "queries" / "serving").rglob("*.sql")}

    assert views
    assert [] == [view for view in sorted(views) if not re.search(rf"`{view}\b", told)]


def test_what_npm_brings_is_locked_by_hash_and_without_an_address() -> None:
    lock = json.loads(read("tests/browser/package-lock.json"))
    brought = [package for path, package in lock["packages"].items() if path]

    assert brought
    assert [] == [each for each in brought if not {"version", "integrity"} <= each.keys()]
    assert "://" not in json.dumps(lock)


def test_the_two_locks_agree() -> None:
    to_run, to_test = (set(re.findall(r"^[^\s#]+==\S+", read(lock), re.M)) for lock in LOCKS)

    assert set() == to_run - to_test


def test_every_direct_dependency_is_locked() -> None:
    groups = PROJECT["dependency-groups"]
    wanted = PROJECT["project"]["dependencies"] + groups["build"] + groups["dev"]
    locked = set(re.findall(r"^([^\s=#]+)==", read("requirements-dev.lock"), re.M))

    assert set() == {re.split(r"[\[<>=~!]", requirement)[0] for requirement in wanted} - locked


def test_every_dependency_says_why_it_is_there() -> None:
    listed = re.findall(r'^    "[\w-]+[<>=~].*$', read("pyproject.toml"), re.M)

    assert [] == [line for line in listed if not re.search(r",\s+# \w", line)]


def test_every_make_target_that_the_readme_names_exists() -> None:
    assert set() == set(re.findall(r"\bmake ([a-z]+)", readme_code())) - targets()


def test_every_command_that_the_readme_names_is_installed() -> None:
    assert set() == set(re.findall(r"\bett-[a-z]+\b", readme_code())) - SCRIPTS.keys()


def test_every_file_that_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", read("README.md"))

    assert [] == [link for link in links if not (ROOT / link).exists()]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_console_script_has_a_function_to_call(script: str) -> None:
    module, function = SCRIPTS[script].split(":")

    assert callable(getattr(importlib.import_module(module), function))


def test_make_alone_lists_every_target() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert targets() == set(re.findall(r"^make ([a-z]+)\s+\S", listed, re.M))


def test_every_target_is_phony() -> None:
    [phony] = re.findall(r"^\.PHONY: (.*)$", read("Makefile"), re.M)

    assert targets() == set(phony.split())


def test_ingest_without_dumps_says_what_it_wants() -> None:
    made = make("ingest", "LOGS=  ")

    assert 2 == made.returncode
    assert 'For example: make ingest LOGS="' in made.stderr


@pytest.mark.parametrize(
    ("logs", "arguments"),
    [
        ("a.jsonl b.jsonl", ["a.jsonl", "b.jsonl"]),
        ("with space.jsonl", ["with space.jsonl"]),
        ("'with space.jsonl' a.jsonl", ["with space.jsonl", "a.jsonl"]),
        ("with\\ space.jsonl", ["with space.jsonl"]),
        ("*.jsonl", ["*.jsonl"]),
        ("$(touch run) `touch run`;a", ["$(touch", "run)", "`touch", "run`;a"]),
        ("- --format events", ["-", "--format", "events"]),
    ],
)
def test_ingest_passes_paths_as_they_were_given(
    logs: str, arguments: list[str], tmp_path: Path
) -> None:
    copy_of_the_tools(tmp_path)
    (tmp_path / "with space.jsonl").touch()
    made = make("ingest", f"LOGS={logs}", folder=tmp_path)

    assert arguments == made.stdout.splitlines(), made.stderr
    assert not (tmp_path / "run").exists()


def test_every_query_says_what_it_is_and_its_grain() -> None:
    silent = []
    for file in sorted((ROOT / "queries").glob("*/**/*.sql")):
        head = re.match(r"(?:--.*\n)*", file.read_text(encoding="utf-8"))[0]
        if not re.match(r"-- (?!grain:)\w", head) or not re.search(r"^-- grain: \w", head, re.M):
            silent.append(str(file.relative_to(ROOT)))

    assert [] == silent


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    headings = re.findall(r"^## (.*)$", read("CHANGELOG.md"), re.M)

    assert "[Unreleased]" == headings[0]


def test_decision_records_are_numbered_without_gap_and_have_the_four_parts() -> None:
    records = sorted((ROOT / "docs" / "adr").glob("*.md"))

    assert [f"{n:04}" for n in range(1, len(records) + 1)] == [r.name[:4] for r in records]
    for record in records:
        parts = re.findall(r"^## (.*)$", record.read_text(encoding="utf-8"), re.M)
        assert ["Status", "Context", "Decision", "Consequences"] == parts, record.name


def test_no_file_holds_a_path_of_this_machine() -> None:
    places = {ROOT, ROOT.parent, Path.home()} - COMMON

    assert [] == files_with([f"{place}/" for place in places])


def test_no_file_names_a_package_registry() -> None:
    hosts = [("pypi", "org"), ("files", "pythonhosted", "org"), ("registry", "npmjs", "org")]

    assert [] == files_with([".".join(parts) for parts in hosts])


def test_every_skipped_test_is_listed_with_its_reason(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(read("tests/conftest.py"))
    pytester.makeini("[pytest]\nmarkers = real")
    pytester.makepyfile(
        """
        import pytest

        def test_stays_out(): pytest.skip("it rains")

        @pytest.mark.real
        def test_reads(real_logs): pass
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.stdout.fnmatch_lines(["*skipped tests*", "it rains (1)", "*::test_stays_out"])


@pytest.mark.parametrize("data", [gzip.compress(b"x", mtime=1), gzip.compress(b"x", mtime=2)])
def test_the_name_of_a_test_holds_no_binary_data(
    request: pytest.FixtureRequest, data: bytes
) -> None:
    # the header of a gzip holds the second: workers that collect in two of them would not agree
    assert re.fullmatch(r"\w+\[data[01]\]", request.node.name)


def is_locked(line: str) -> bool:
    hashes = line.count("--hash=sha256:")
    return hashes > 0 and bool(re.match(r"[a-z0-9.-]+==[^\s;]+( ; [^-]*)?\s+--hash", line))


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def readme_code() -> str:
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", read("README.md"), re.S))


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):(?!=)", read("Makefile"), re.M))


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def copy_of_the_tools(folder: Path) -> None:
    """A project whose `tools/install` does nothing and whose `ett-ingest` prints its arguments."""
    scripts = {
        "Makefile": read("Makefile"),
        "tools/ingest": read("tools/ingest"),
        "tools/install": "#!/bin/sh\n",
        ".venv/bin/ett-ingest": '#!/bin/sh\nprintf "%s\\n" "$@"\n',
        ".venv/bin/python": "#!/bin/sh\n",
    }
    for name, text in scripts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)


def files_with(needles: list[str]) -> list[str]:
    return [
        f"{path}: {needle}"
        for path in tracked_files()
        for needle in needles
        if needle.encode() in (ROOT / path).read_bytes()
    ]


def tracked_files() -> list[str]:
    """What git has or would take; without git there is nothing to leak."""
    listed = subprocess.run(
        [
            "git",
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git work tree")
    return [path for path in listed.stdout.split("\0") if path and (ROOT / path).is_file()]
