"""Which code made an artifact: a hash over a module's source and every Gemel module that it imports.

A stage is run again when its own code or anything below it changed, and only then.
"""

import ast
from functools import cache
from pathlib import Path

from gemel.store.address import hash_bytes, hash_json

_PACKAGE = "gemel"
_ROOT = Path(__file__).parents[1]


@cache
def code_version(module: str) -> str:
    """Hash of the sources that `module` consists of, imports inside functions included."""
    closure: set[str] = set()
    queue = [module]
    while queue:
        name = queue.pop()
        if name not in closure:
            closure.add(name)
            queue += _imports(name)
    return hash_json({name: _source_hash(name) for name in closure})


@cache
def _imports(module: str) -> tuple[str, ...]:
    tree = ast.parse(_path(module).read_bytes())
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(sorted(name for name in names if name.split(".")[0] == _PACKAGE and _path(name).exists()))


def _source_hash(module: str) -> str:
    return hash_bytes(_path(module).read_bytes())


def _path(module: str) -> Path:
    """Source file of a module, found without importing it (importing could load torch)."""
    stem = _ROOT.joinpath(*module.split(".")[1:])
    return stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")
