#!/usr/bin/env python3
"""Whether CONTRIBUTING.md names the files that one more of each kind takes.

    python3 scripts/add_one_of_each.py          # compile a copy of the tree with one more of each
    python3 scripts/add_one_of_each.py --plan   # the files of each kind alone; compiles nothing
    python3 scripts/add_one_of_each.py --test   # and run the suites there that look at files

A copy of the tracked files in target/scratch gets one more operator, template, statement and so on, by the edits of
scripts/add/kinds.py. It fails if:
- an edit's anchor does not occur exactly once;
- the files that a kind touches are not those that its bullet in "How to add" names;
- a bullet has no kind, or a kind no bullet;
- the copy does not compile without warnings.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADD = ROOT / "scripts/add"
sys.path.insert(0, str(ADD))
sys.dont_write_bytecode = True

from kinds import KINDS  # noqa: E402

SCRATCH = ROOT / "target/scratch"
BUILD = ROOT / "target/scratch-build"
# What a path in backquotes looks like: it ends like a file or like a folder.
PATH = re.compile(r"[\w.-]*(?:/[\w.-]+)*(?:/|\.[a-z]+)")


class Wrong(Exception):
    """What does not hold, in words for who adds something."""


@dataclass
class Tree:
    """The files of the copy, as they are to be."""

    texts: dict[str, bytes]
    created: set[str] = field(default_factory=set)

    @classmethod
    def of_tracked_files(cls) -> "Tree":
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
        names = [name for name in listed.decode().split("\0") if (ROOT / name).is_file()]
        return cls({name: (ROOT / name).read_bytes() for name in names})

    def is_folder(self, path: str) -> bool:
        return any(name.startswith(f"{path.rstrip('/')}/") for name in self.texts)

    def create(self, path: str, text: str) -> None:
        if path in self.texts:
            raise Wrong(f"{path} exists already")
        self.texts[path] = text.encode()
        self.created.add(path)

    def edit(self, path: str, edit) -> None:
        if path not in self.texts:
            raise Wrong(f"{path}, which scripts/add/kinds.py edits, does not exist")
        try:
            self.texts[path] = edit(self.texts[path].decode()).encode()
        except Wrong as wrong:
            raise Wrong(f"{path}: {wrong}") from None

    def write(self) -> None:
        """Brings the copy on disk to this state. Files that stay the same keep their times, so cargo builds only what differs."""
        for path in SCRATCH.rglob("*") if SCRATCH.exists() else []:
            if path.is_file() and str(path.relative_to(SCRATCH)) not in self.texts:
                path.unlink()
        for name, text in self.texts.items():
            path = SCRATCH / name
            if path.is_file() and path.read_bytes() == text:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)


def add(tree: Tree, kind: dict) -> set[str]:
    """Adds one of a kind; the files that it took."""
    for path, source in kind.get("create", {}).items():
        tree.create(path, (ADD / source).read_text())
    for path, edits in kind["edit"].items():
        for edit in edits:
            tree.edit(path, edit_of(edit))
    return {*kind.get("create", {}), *kind["edit"]}


def edit_of(edit: tuple):
    """The function that does an edit; scripts/add/kinds.py says what edits there are."""
    match edit:
        case ("after" | "before" as side, anchor, lines):
            return lambda text: inserted(text, side, anchor, lines)
        case ("count", name):
            return lambda text: counted(text, name)
        case ("listed", name, item):
            return lambda text: counted(re.sub(rf"(const {name}: .* = \[)", rf"\1{item}, ", text), name)
    raise Wrong(f"scripts/add/kinds.py: {edit!r} is no edit")


def inserted(text: str, side: str, anchor: str, lines: str) -> str:
    if (found := text.count(anchor)) != 1:
        raise Wrong(f"the anchor `{anchor}` occurs {found} times, not once")
    at = text.index(anchor)
    start = text.rfind("\n", 0, at) + 1
    indent = re.match(r" *", text[start:]).group()
    new = "".join(f"{indent}{line}\n" if line else "\n" for line in lines.split("\n"))
    if side == "after":
        start = text.index("\n", at + len(anchor)) + 1
    return text[:start] + new + text[start:]


def counted(text: str, name: str) -> str:
    pattern = rf"(const {name}: \[[^;]*; )(\d+)(\] =)"
    text, found = re.subn(pattern, lambda match: f"{match[1]}{int(match[2]) + 1}{match[3]}", text)
    if found != 1:
        raise Wrong(f"{found} arrays are called `{name}`, not one")
    return text


def bullets() -> dict[str, str]:
    """The bullets of "How to add", by what they say how to add."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = re.search(r"^## How to add\n(.*?)^## ", text, re.M | re.S)
    if section is None:
        raise Wrong("CONTRIBUTING.md has no section `How to add`")
    found = re.findall(r"^- \*\*(.*?)\*\*(.*?)(?=^- |\Z|^\S)", section[1], re.M | re.S)
    return {title: " ".join(body.split()) for title, body in found}


def named(bullet: str, tree: Tree) -> list[str]:
    """The files and folders that a bullet names. One that is not in the tree is looked up from the folder that was named before,
    or one above it."""
    base, found = "", []
    for word in re.findall(r"`([^`]*)`", bullet):
        if not PATH.fullmatch(word):
            continue
        folder = word.endswith("/")
        exists = tree.is_folder if folder else tree.texts.__contains__
        if exists(word):
            base = word.rstrip("/") if folder else os.path.dirname(word)
            found.append(word)
            continue
        above = [base, *map(str, Path(base).parents)] if base else []
        whole = next((path for path in (f"{folder_above}/{word}" for folder_above in above) if exists(path)), None)
        if whole is None:
            raise Wrong(f"CONTRIBUTING.md names `{word}`, which does not exist below {base or 'the root'}")
        found.append(whole)
    return found


def judge(kind: dict, touched: set[str], places: list[str], tree: Tree) -> list[str]:
    """What does not agree between the files that a kind took and the places that its bullet names."""
    files = {place for place in places if not place.endswith("/")}
    folders = {place for place in places if place.endswith("/")}
    optional = set(kind.get("optional", []))
    unnamed = touched - files
    unnamed -= {path for path in unnamed & tree.created if f"{os.path.dirname(path)}/" in folders}
    wrong = [f"takes {path}, which its bullet does not name" for path in sorted(unnamed)]
    wrong += [f"does not take {path}, which its bullet names" for path in sorted(files - touched - optional)]
    empty = {folder for folder in folders - optional if not any(path.startswith(folder) for path in touched)}
    wrong += [f"takes nothing in {folder}, which its bullet names" for folder in sorted(empty)]
    wrong += [f"may do without {path}, which its bullet does not name" for path in sorted(optional - {*places})]
    return wrong


def add_all() -> Tree:
    """The tree with one more of each kind."""
    tree, original, wrong = Tree.of_tracked_files(), Tree.of_tracked_files(), []
    known = bullets()
    wrong += [f"{title}: no kind in scripts/add/kinds.py" for title in known if title not in KINDS]
    wrong += [f"{title}: no bullet in CONTRIBUTING.md" for title in KINDS if title not in known]
    for title, kind in KINDS.items():
        try:
            touched = add(tree, kind)
            places = named(known.get(title, ""), original)
            wrong += [f"{title}: it {problem}" for problem in judge(kind, touched, places, tree)]
            print(f"{title}: {len(touched)} files, of them new {len(touched & tree.created)}")
        except Wrong as problem:
            wrong.append(f"{title}: {problem}")
    if wrong:
        raise Wrong("\n".join(wrong))
    return tree


def cargo(*arguments: str) -> None:
    started = time.monotonic()
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD)}
    done = subprocess.run(["cargo", *arguments], cwd=SCRATCH, env=environment, text=True, stderr=subprocess.PIPE)
    shown = f"cargo {' '.join(arguments)}"
    if done.returncode != 0 or re.search(r"^(warning|error)", done.stderr, re.M):
        raise Wrong(f"{done.stderr}\n{shown} fails in {SCRATCH.relative_to(ROOT)}, or warns")
    print(f"{shown}: {time.monotonic() - started:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", action="store_true", help="compare the files with CONTRIBUTING.md, and compile nothing")
    parser.add_argument("--test", action="store_true", help="run the suites on the copy that look at files, too")
    options = parser.parse_args()
    try:
        tree = add_all()
        if options.plan:
            return 0
        tree.write()
        cargo("check", "--workspace", "--all-targets", "--quiet")
        if options.test:
            # In the profile of the check: what the suite looks at is text, and less is to be built.
            cargo("test", "--profile", "dev", "--quiet", "-p", "warpweave-tests", "--test", "tidy")
            cargo("test", "--profile", "dev", "--quiet", "-p", "warpweave-codegen", "--test", "statement_files")
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
