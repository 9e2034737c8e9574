"""Rules of the repository that no linter knows: budgets, paths named in documents, no path of one machine.

Run by `make check`; prints the largest of each kind and exits 1 past a limit.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60
MAX_POSITIONAL = 7
MAX_CORE_DEPENDENCIES = 6
FORBIDDEN_NAMES = {"utils", "common", "helpers", "misc", "manager"}
MACHINE_PATH = re.compile(r"(/wor[k]/|/roo[t]/|/home/\w|/Users/\w)")
DOCUMENT_PATH = re.compile(r"`((?:src|docs|tests|examples|benchmarks|requirements|\.ci)/[\w./-]+)`")


def main() -> int:
    """Check all rules."""
    files = _tracked()
    sources = [f for f in files if f.suffix == ".py" and f.is_relative_to(ROOT / "src")]
    problems = [*_budgets(sources), *_documents(files), *_machine_paths(files), *_names(sources), *_dependencies()]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def _tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        return [p for p in ROOT.rglob("*") if p.is_file() and not {".venv", ".git"} & set(p.parts)]
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def _budgets(sources: list[Path]) -> list[str]:
    problems, longest_file, longest_function = [], (0, ""), (0, "")
    for path in sources:
        text = path.read_text()
        name = str(path.relative_to(ROOT))
        lines = text.count("\n")
        longest_file = max(longest_file, (lines, name))
        if lines > MAX_FILE_LINES:
            problems.append(f"{name}: {lines} lines, at most {MAX_FILE_LINES}")
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            longest_function = max(longest_function, (length, f"{name}:{node.name}"))
            if length > MAX_FUNCTION_LINES:
                problems.append(f"{name}:{node.lineno} {node.name}: {length} lines, at most {MAX_FUNCTION_LINES}")
            positional = len(node.args.posonlyargs) + len(node.args.args)
            if positional > MAX_POSITIONAL:
                problems.append(f"{name}:{node.lineno} {node.name}: {positional} positional parameters")
    print(f"longest file {longest_file[1]} ({longest_file[0]}), longest function {longest_function[1]} "
          f"({longest_function[0]}), {len(sources)} source files")  # fmt: skip
    return problems


def _documents(files: list[Path]) -> list[str]:
    """Paths in backticks in Markdown files exist."""
    problems = []
    for path in (f for f in files if f.suffix == ".md"):
        for named in DOCUMENT_PATH.findall(path.read_text()):
            if not (ROOT / named).exists():
                problems.append(f"{path.relative_to(ROOT)} names {named}, which does not exist")
    return problems


def _machine_paths(files: list[Path]) -> list[str]:
    problems = []
    for path in files:
        if path.suffix in {".py", ".md", ".toml", ".json", ".sh", ""} and path.stat().st_size < 1_000_000:
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if MACHINE_PATH.search(line):
                    problems.append(f"{path.relative_to(ROOT)}:{number}: path of one machine")
    return problems


def _names(sources: list[Path]) -> list[str]:
    return [f"{p.relative_to(ROOT)}: name says nothing" for p in sources if FORBIDDEN_NAMES & {p.stem, p.parent.name}]


def _dependencies() -> list[str]:
    import tomllib

    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return (
        [f"{len(core)} core dependencies, at most {MAX_CORE_DEPENDENCIES}"] if len(core) > MAX_CORE_DEPENDENCIES else []
    )


if __name__ == "__main__":
    sys.exit(main())
