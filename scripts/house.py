"""The house in numbers: `make house`, or `make house ARGS="--against REV"` to set them beside another revision."""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
import tempfile
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "jobtrail"
FILES, FILE_LINES, FUNCTION_LINES = 15, 500, 50
_SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
            tokenize.ENDMARKER}  # fmt: skip
Graph = dict[str, set[str]]


@dataclass(frozen=True)
class Module:
    """A source file, read once."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__`` of a folder."""
        return self.path.name == "__init__.py"

    @property
    def is_migration(self) -> bool:
        """Whether it is one version of the schema, which is a list of columns and not read as a function."""
        return "versions" in self.path.parts


def read(source: Path) -> list[Module]:
    """Read every module below ``source/jobtrail``."""
    found = []
    for path in sorted((source / PACKAGE).rglob("*.py")):
        text = path.read_text("utf-8")
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, path, text, ast.parse(text)))
    return found


def code_lines(module: Module) -> int:
    """Count the lines that hold code: no docstring, comment or blank line."""
    docstrings: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            text = node.body[0]
            docstrings.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in _SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def functions(module: Module) -> list[tuple[int, str]]:
    """Return (lines, name) of each function, nested ones included."""
    return [
        ((node.end_lineno or node.lineno) - node.lineno + 1, f"{module.name}:{node.lineno} {node.name}")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def imports(modules: list[Module]) -> Graph:
    """Return who imports whom inside the package; imports in functions and for types only are counted like all others."""
    names = {module.name for module in modules}
    graph: Graph = {module.name: set() for module in modules}
    for module in modules:
        for node in ast.walk(module.tree):
            graph[module.name] |= {name for name in _targets(node, module, names) if name != module.name}
    return graph


def _targets(node: ast.AST, module: Module, names: set[str]) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & names
    if not isinstance(node, ast.ImportFrom):
        return set()
    base = node.module or ""
    if node.level:
        package = module.name.split(".")[: None if module.is_package else -1]
        above = package[: len(package) - node.level + 1]
        base = ".".join([*above, *([node.module] if node.module else [])])
    inner = {f"{base}.{alias.name}" for alias in node.names} & names
    return inner or ({base} & names)


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or through others (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            place = stack.index(name)
            group = stack[place:]
            del stack[place:]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


def twins(modules: list[Module]) -> dict[str, list[str]]:
    """Return the class names that stand in more than one module."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module.name)
    return {name: where for name, where in homes.items() if len(where) > 1}


def table_users(graph: Graph) -> set[str]:
    """Return the modules outside store and queries (and the database's own room) that name tables."""
    tables = {f"{PACKAGE}.store.tables", f"{PACKAGE}.database.tables"}
    rooms = (f"{PACKAGE}.store", f"{PACKAGE}.queries", f"{PACKAGE}.database")
    return {name for name, others in graph.items() if others & tables and not name.startswith(rooms)}


def any_count(modules: list[Module]) -> int:
    """Count the uses of ``Any`` as a name."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for module in modules for node in ast.walk(module.tree))


def numbers(modules: list[Module]) -> dict[str, int]:
    """Return every number of the house by what it counts."""
    graph, folders = imports(modules), Counter(module.path.parent for module in modules)
    long = [size for module in modules if not module.is_migration for size, _ in functions(module)]
    depth = max(module.path.parent.parts[::-1].index(PACKAGE) for module in modules)
    return {
        "files": len(modules),
        "folders": len(folders),
        "most files in a folder": max(folders.values()),
        f"folders with more than {FILES} files": sum(count > FILES for count in folders.values()),
        "deepest folder": depth,
        "lines": sum(module.text.count("\n") for module in modules),
        "lines of code": sum(map(code_lines, modules)),
        f"files over {FILE_LINES} lines": sum(
            module.text.count("\n") > FILE_LINES for module in modules if not module.is_migration
        ),
        "functions": len(long),
        f"functions over {FUNCTION_LINES} lines": sum(size > FUNCTION_LINES for size in long),
        "circles of imports": len(circles(graph)),
        "modules in a circle": sum(map(len, circles(graph))),
        "modules that name tables outside store and queries": len(table_users(graph)),
        "class names that stand twice": len(twins(modules)),
        "uses of Any": any_count(modules),
    }


def at(revision: str) -> dict[str, int]:
    """Return the numbers of another revision, unpacked into a temporary folder."""
    packed = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
        return numbers(read(Path(folder) / "src"))


def main() -> None:
    """Print the table, then what is over a limit by name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", metavar="REV", help="a revision to set beside")
    parser.add_argument("--names", action="store_true", help="name what is over a limit")
    given = parser.parse_args()
    modules = read(ROOT / "src")
    now, before = numbers(modules), at(given.against) if given.against else None
    print(f"| what | {'before | ' if before else ''}now |\n| --- | {'---: | ' if before else ''}---: |")
    for what, number in now.items():
        earlier = f"{before.get(what, 0):,} | " if before else ""
        print(f"| {what} | {earlier}{number:,} |")
    if given.names:
        _name(modules)


def _name(modules: list[Module]) -> None:
    for group in circles(imports(modules)):
        print("circle:", " ".join(group))
    for name in sorted(table_users(imports(modules))):
        print("names tables:", name)
    for name, where in sorted(twins(modules).items()):
        print("stands twice:", name, *where)
    for module in modules:
        lines = module.text.count("\n")
        if lines > FILE_LINES and not module.is_migration:
            print("long file:", module.name, lines)
        for size, function in functions(module):
            if size > FUNCTION_LINES and not module.is_migration:
                print("long function:", function, size)


if __name__ == "__main__":
    main()
