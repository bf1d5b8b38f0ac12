"""Change the measures and the allocation of HITs at drawn places, one at a time, and see whether a test fails.

usage: mutants.py [--count 400] [--seed 1] [--least 0.85] [--processes 2] [MODULE ...]

A place is a comparison, an operator, a constant, `and`, `or`, `not` or a minus. For each, a forked process imports the changed
module and runs, until one fails, the test files that import it; if none fails, those of tests/analysis that import it by
way of others. Prints the survivors, and fails when fewer than `--least` are killed. A module named on the command line is the
only one changed.
"""

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path
from random import Random
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
CHANGED = ("analysis", "annotation/allocation")
TESTS = ("tests/analysis", *(f"tests/annotation/{room}" for room in ("allocation", "annotators", "quality", "rating")))
SLOW = ("allocation/test_stress.py", "test_references.py", "test_coverage.py")  # servers, other libraries, simulations
OF_ALL = ("tests/analysis/test_results.py",)  # import every module by its name in a list
# What takes long to import, and is the same for every mutant.
WARM = (
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "scipy.sparse",
    "pytest",
    "hypothesis",
    "hypothesis.strategies",
    "django.test",
)
TIMEOUT = 300  # seconds; an endless loop is a failure that a test would see
KILLED, SURVIVED, BROKEN = 0, 1, 2
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the `place`-th changeable node of a file."""

    path: str
    place: int
    line: int
    change: str

    @property
    def module(self) -> str:
        """Return the module's dotted name."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Places(ast.NodeVisitor):
    """Lists the nodes that can be changed: none of annotations, messages of errors, and texts."""

    def __init__(self) -> None:
        self.nodes: list[ast.AST] = []

    def visit_Compare(self, node: ast.Compare) -> None:
        self._take(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._take(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self._take(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._take(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self._take(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool | int | float):
            self.nodes.append(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        pass

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.args.defaults, *(one for one in node.args.kw_defaults if one), *node.body):
            self.visit(part)

    def _take(self, node: ast.AST) -> None:
        self.nodes.append(node)
        self.generic_visit(node)


def places(tree: ast.Module) -> list[ast.AST]:
    """Return the changeable nodes of a file."""
    found = Places()
    found.visit(tree)
    return [node for node in found.nodes if change(copy.deepcopy(node))]


def change(node: ast.AST) -> bool:
    """Change a node; False where there is nothing to change it to."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        node.ops[0] = SWAPPED[type(node.ops[0])]()  # type: ignore[assignment]
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED:
        node.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        return False
    return True


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every change of a file."""
    for place, node in enumerate(places(ast.parse(path.read_text(encoding="utf-8")))):
        before = ast.unparse(node)
        change(node)
        yield Mutant(str(path.relative_to(ROOT)), place, node.lineno, f"{before}  →  {ast.unparse(node)}")  # type: ignore[attr-defined]


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with its change."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))
        change(places(self.tree)[mutant.place])
        self.done = False

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        file = str(ROOT / self.mutant.path)
        is_package = file.endswith("__init__.py")
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=file, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [str(Path(file).parent)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        self.done = True
        exec(compile(ast.fix_missing_locations(self.tree), str(ROOT / self.mutant.path), "exec"), module.__dict__)  # noqa: S102


def imported(path: Path) -> set[str]:
    """Return the names that a file imports, each with the packages that it lies in, but for the top ones."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return names


def test_files(module: str, uses: dict[str, set[str]], tests: dict[str, set[str]]) -> tuple[list[str], ...]:
    """Return the test file of a module's name, the others that import it or its package, and those that do so by way of others."""
    direct = {file for file, names in tests.items() if module in names or _package(module) in names}
    direct |= {file for file in OF_ALL if file in tests and module.startswith("analysis.")}
    reached, further = {module}, set()
    while more := {name for name, names in uses.items() if names & reached} - reached:
        reached |= more
    further = {file for file, names in tests.items() if names & reached} - direct
    named = f"test_{module.rsplit('.', 1)[-1]}.py"
    own = {file for file in direct if file.endswith(f"/{named}")}
    return sorted(own), sorted(direct - own), sorted(further)


def _package(module: str) -> str:
    package = module.rpartition(".")[0]
    return package if "." in package else module


def run_tests(mutant: Mutant | None, stages: tuple[list[str], ...], *, seconds: float = TIMEOUT) -> int:
    """Run the stages in a child of this process; return what became of the mutant."""
    pid = os.fork()
    if pid:
        until = time.monotonic() + seconds
        while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return KILLED
            time.sleep(0.05)
        code = os.waitstatus_to_exitcode(ended[1])
        return code if code in (KILLED, SURVIVED) else BROKEN if code == BROKEN else KILLED
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os._exit(_judge(mutant, stages))
    except BaseException:  # a mutant may break anything
        os._exit(KILLED)


def _judge(mutant: Mutant | None, stages: tuple[list[str], ...]) -> int:
    import pytest

    changed = None if mutant is None else Changed(mutant)
    if changed is not None:
        sys.meta_path.insert(0, changed)
    for files in filter(None, stages):
        code = pytest.main(
            ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning", *files]
        )
        if code != pytest.ExitCode.OK:
            return KILLED
    return SURVIVED if changed is None or changed.done else BROKEN


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.85)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("modules", nargs="*")
    return parser


def main() -> int:
    """Draw, run and report; return the exit code."""
    parser = _arguments()
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for name in WARM:
        importlib.import_module(name)
    paths = sorted(path for folder in CHANGED for path in (ROOT / folder).rglob("*.py"))
    everything = [
        one for path in paths for one in mutants_of(path) if not options.modules or one.module in options.modules
    ]
    if unknown := set(options.modules) - {one.module for one in everything}:
        parser.error(f"no module to change: {', '.join(sorted(unknown))} (as analysis.agreement.coefficients)")
    drawn = Random(options.seed).sample(everything, min(options.count, len(everything)))
    uses = {Mutant(str(path.relative_to(ROOT)), 0, 0, "").module: imported(path) for path in paths}
    tests = {
        str(path.relative_to(ROOT)): imported(path)
        for folder in TESTS
        for path in sorted((ROOT / folder).rglob("test_*.py"))
        if not str(path).endswith(SLOW)
    }
    stages = {one.module: test_files(one.module, uses, tests) for one in drawn}
    print(f"{len(everything):,} places, {len(drawn)} drawn with seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPool(options.processes) as pool:
        os.environ |= {
            "TANDEM_DATA_DIR": folder,
            "DATABASE_URL": f"sqlite:///{folder}/tandem.sqlite3",
            "SECRET_KEY": "",
        }
        needed = sorted({file for stage in stages.values() for files in stage for file in files})
        if run_tests(None, (needed,), seconds=20 * TIMEOUT) != SURVIVED:
            print("the tests fail without any change")
            return 1
        ended = pool.imap(lambda one: (one, run_tests(one, stages[one.module])), drawn)
        survivors = []
        for number, (mutant, became) in enumerate(ended, start=1):
            if became != KILLED:
                survivors.append(mutant)
                what = "not imported by its tests" if became == BROKEN else "survives"
                print(f"{number:>4} {mutant.path}:{mutant.line} {what}: {mutant.change[:160]}", flush=True)
    share = 1 - len(survivors) / len(drawn)
    print(f"{len(drawn) - len(survivors)} of {len(drawn)} killed: {share:.1%} (at least {options.least:.0%})")
    return 0 if share >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
