"""The house stays in order: few rooms, imports that go down, one folder a method, tests beside what they test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dormie
from dormie.methods import METHODS

SOURCE = Path(dormie.__file__).parent
TESTS = Path(__file__).parent
MODULES = {
    ".".join(path.with_suffix("").relative_to(SOURCE.parent).parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}
STAGES = {stage.__name__ for method in METHODS.values() for stage in method.stages} | {
    "Stage",
    "CertifiedStage",
    "CalibratedStage",
}


def _imports(name: str) -> Iterator[str]:
    """Modules of dormie that a module imports, wherever in it; a package counts with whatever is imported from it."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            assert not node.level, f"{path}: imports are absolute"
            found = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base for alias in node.names]
        else:
            continue
        for target in found:
            parts = target.split(".")
            for end in range(2, len(parts) + 1):
                parent = ".".join(parts[:end])
                # Whoever lies inside a package does not import it anew.
                if parent in MODULES and not f"{package}.".startswith(f"{parent}."):
                    yield parent
            if target in MODULES and target != name:
                yield target


def test_no_modules_import_one_another() -> None:
    graph = {name: set(_imports(name)) - {name} for name in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle of imports: {' -> '.join(error.args[1])}")


def test_the_graph_sees_imports_inside_functions() -> None:
    """Otherwise the test above could not fail where it matters."""
    assert "dormie.estimators" in set(_imports("dormie.lab.papers.decoste2002.tables"))


def test_the_top_shows_the_rooms_alone() -> None:
    entries = {path.name for path in SOURCE.iterdir() if path.name != "__pycache__"}
    assert len(entries) <= 20, sorted(entries)


@pytest.mark.parametrize("name", MODULES)
def test_imports_inside_functions_say_why(name: str) -> None:
    """They are for optional dependencies and for start-up time, never there to dodge a cycle."""
    text = MODULES[name].read_text()
    lines, tree = text.splitlines(), ast.parse(text)
    for_types = [node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    never_run = {id(part) for node in for_types for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and node.col_offset and id(node) not in never_run:
            assert "# optional" in lines[node.end_lineno - 1] or "# here:" in lines[node.end_lineno - 1], (  # type: ignore[operator]
                f"{name}, line {node.lineno}: {lines[node.lineno - 1].strip()}"
            )


@pytest.mark.parametrize("name", [name for name in MODULES if not name.startswith("dormie.methods")])
def test_nothing_outside_methods_asks_a_stage_what_it_is(name: str) -> None:
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            asked = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
            assert not asked & STAGES, f"{name}, line {node.lineno}"
            knows_kernels = name.startswith(("dormie.simplify", "dormie.numerics.rounding"))
            assert knows_kernels or "Custom" not in asked, f"{name}, line {node.lineno}"


def test_every_method_has_its_folder() -> None:
    folders = {path.name for path in (SOURCE / "methods").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(METHODS)
    for folder in folders:
        # The twins of the full sum, of all stages of members, of geometry, and of a reduced set.
        elsewhere = ("dense", "parts", "regions", "scores")
        twin = {"reference.py"} if folder not in elsewhere else set()
        names = {path.name for path in (SOURCE / "methods" / folder).iterdir()}
        assert {"__init__.py", "stage.py", "method.py"} | twin <= names


# Tests of a folder as a whole, and of what several modules of it do together.
OF_FOLDERS = {
    "test_archives",
    "test_calibrated_stages",
    "test_command",
    "test_damage",
    "test_deviation",
    "test_files",
    "test_golden",
    "test_native",
    "test_sparse_machines",
    "test_sparse_points",
}
OF_FOLDERS |= {"test_native", "test_risk_of_values", "test_round_trip", "test_toy_method"}


def test_tests_lie_where_the_source_does() -> None:
    """tests/x/test_y.py is of src/dormie/x/y.py, or of the folder x/y; the rest has folders of its own."""
    own = {"cpp", "oracles", "properties", "golden", "slow", "ecosystem"}
    for path in TESTS.rglob("test_*.py"):
        folder, name = path.relative_to(TESTS).parent, path.stem.removeprefix("test_")
        if not folder.parts or folder.parts[0] in own:
            continue
        assert (SOURCE / folder).is_dir(), path
        tested = SOURCE / folder / name
        assert (
            path.stem in OF_FOLDERS or name == folder.name or tested.is_dir() or tested.with_suffix(".py").exists()
        ), path


@pytest.mark.parametrize("name", [name for name in MODULES if name != "dormie"])
def test_no_module_imports_the_whole_package(name: str) -> None:
    """Rooms import rooms."""
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            assert "dormie" not in {alias.name for alias in node.names}, f"{name}, line {node.lineno}"


def _code_lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a module, with their numbers, without docstrings, imports, comments and lone brackets."""
    text = path.read_text()
    passed_over: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.stmt)
            passed_over |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), start=1))
    return [
        (number, line)
        for number, line in lines
        if len(line) > 2 and not line.startswith("#") and number not in passed_over
    ]


def test_no_six_lines_are_written_twice() -> None:
    first: dict[tuple[str, ...], str] = {}
    for name, path in MODULES.items():
        lines = _code_lines(path)
        for start in range(len(lines) - 5):
            block = tuple(line for _, line in lines[start : start + 6])
            here = f"{name}, line {lines[start][0]}"
            assert block not in first, f"{here} repeats {first[block]}: {block[0]}"
            first[block] = here
