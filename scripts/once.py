"""Runs a suite of the full run unless it has passed with these very sources, and keeps what came of it.

A full run takes hours. docs/results/full.md is its record: the tree of the sources (every tracked file but the record itself) and a
row for each suite. A suite that has passed with this tree is not run again, on another machine and in another clone of it either, so
what is interrupted goes on where it stopped. A suite that fails is recorded so and does not keep the others from running; --verdict
fails at the end if one did. With changes that are not committed, nothing is skipped and nothing is recorded.

usage: scripts/once.py NAME COMMAND...
       scripts/once.py --verdict
       scripts/once.py --self-test
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECORD = "docs/results/full.md"
ROW = re.compile(r"^\| (?P<suite>\S+) \| (?P<state>passed|failed) \| (?P<date>\S+) \| (?P<seconds>\d+) \|$")


def git(*arguments, **options):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True, **options).stdout


def sources():
    """The identifier of all tracked files but the record."""
    listed = git("ls-tree", "-r", "--full-tree", "HEAD").splitlines(keepends=True)
    kept = [line for line in listed if not line.endswith(f"\t{RECORD}\n")]
    return git("hash-object", "--stdin", input="".join(kept)).strip()


def changed():
    return [line for line in git("status", "--porcelain", "--untracked-files=all").splitlines() if line[3:] != RECORD]


def rows(tree, path=Path(RECORD)):
    """The suites that are recorded for a tree, by name: state, date, seconds."""
    text = path.read_text() if path.exists() else ""
    if f"tree `{tree}`" not in text:
        return {}
    matches = filter(None, map(ROW.match, text.splitlines()))
    return {row["suite"]: (row["state"], row["date"], int(row["seconds"])) for row in matches}


def write(tree, recorded, path=Path(RECORD)):
    lines = [
        "# Results: the full run",
        "",
        "<!-- Written by `make full`; not by hand. -->",
        "",
        f"The suites of `make full` with the sources of tree `{tree}`, which is all tracked files but this one",
        "(`scripts/once.py` computes it). A run that was interrupted goes on behind the suites that have passed.",
        "",
        "| suite | result | date | seconds |",
        "| --- | --- | --- | ---: |",
    ]
    lines += [f"| {name} | {state} | {date} | {seconds} |" for name, (state, date, seconds) in recorded.items()]
    incomplete = path.with_suffix(".partial")
    incomplete.write_text("\n".join(lines) + "\n")
    incomplete.replace(path)


def run(name, command):
    if changed():
        return subprocess.run(command).returncode
    tree = sources()
    state, date, seconds = rows(tree).get(name, (None, None, None))
    if state == "passed":
        print(f"{name} has passed with these sources on {date}: {seconds} s")
        return 0
    start = time.monotonic()
    failed = subprocess.run(command).returncode != 0
    recorded = rows(tree)
    recorded[name] = ("failed" if failed else "passed", time.strftime("%Y-%m-%d"), round(time.monotonic() - start))
    write(tree, recorded)
    if failed:
        print(f"{name} failed; the run goes on", file=sys.stderr)
    return 0


def verdict():
    if changed():
        print("files are changed and not committed, so no suite was recorded", file=sys.stderr)
        return 1
    recorded = rows(sources())
    failed = [name for name, (state, _, _) in recorded.items() if state == "failed"]
    seconds = sum(seconds for _, _, seconds in recorded.values())
    print(f"{len(recorded) - len(failed)} of {len(recorded)} suites passed, {seconds} s")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed or not recorded else 0


def self_test():
    """In a repository of its own: what passed is skipped, what failed is run again, and a changed source begins a new record."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        git("init", "--quiet")
        git("config", "user.email", "test@example.com")
        git("config", "user.name", "test")
        Path("docs/results").mkdir(parents=True)
        Path("source").write_text("1")
        git("add", "--all")
        git("commit", "--quiet", "--message", "first")
        mark = [sys.executable, "-c", "open('.git/runs', 'a').write('x')"]
        fail = [sys.executable, "-c", "raise SystemExit(1)"]
        count = lambda: len(Path(".git/runs").read_text())
        assert run("passes", mark) == 0 and run("passes", mark) == 0 and count() == 1
        assert verdict() == 0
        assert run("fails", fail) == 0 and verdict() == 1
        git("add", "--all")
        git("commit", "--quiet", "--message", "the record")
        assert run("passes", mark) == 0 and count() == 1, "the record is no source"
        assert run("fails", mark) == 0 and count() == 2 and verdict() == 0, "what failed is run again"
        Path("source").write_text("2")
        assert run("passes", mark) == 0 and count() == 3 and verdict() == 1, "nothing is recorded of a changed tree"
        assert run("fails", fail) == 1
        git("commit", "--quiet", "--all", "--message", "second")
        assert run("passes", mark) == 0 and count() == 4 and list(rows(sources())) == ["passes"]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--verdict"]:
            sys.exit(verdict())
        case ["--self-test"]:
            self_test()
        case [name, *command] if command:
            sys.exit(run(name, command))
        case _:
            sys.exit(__doc__)
