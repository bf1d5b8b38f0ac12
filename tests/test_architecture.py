"""Who may import whom: config → reporting → judging → annotation → analysis, and the few single doors to outside."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ORDER = ("config", "reporting", "judging", "annotation", "analysis")
FOR_ANALYSIS = {"analysis", "numpy", "nltk"}
_IMPORTERS = {"importlib.import_module", "import_module", "__import__"}
_ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
_OS_ENVIRONMENT = {f"os.{name}" for name in _ENVIRONMENT}
PREPARED_FOR = {"hits", "annotators", "allocation", "rating"}  # docs/decisions/0008
STARTERS = {"config/__main__.py", "config/asgi.py", "config/wsgi.py"}


def problems(root: Path) -> list[str]:
    """List what breaks the architecture in the tree under `root`."""
    files = [file for package in (*ORDER, "manage.py") for file in _files(root / package)]
    return [problem for file in files for problem in _of(root, file)] + _circles(root, files)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


@dataclass
class Found:
    """What a file imports, by its lines and full names, and the lines on which it touches the environment."""

    imports: list[tuple[int, str]]
    environment: list[int]


@cache
def _found(root: Path, file: Path) -> Found:
    """Read a file once; its tree is not kept, which would slow the reading of all others."""
    place = file.relative_to(root)
    nodes = list(_nodes(file.read_text(encoding="utf-8")))
    return Found([*_imports(nodes, place)], [*_environment(nodes, starter=place.as_posix() in STARTERS)])


def _nodes(text: str) -> Iterator[ast.AST]:
    """Return all nodes of a file, or its statements if it has no word that makes its expressions matter."""
    tree = ast.parse(text)
    return ast.walk(tree) if any(word in text for word in _IMPORTERS | _ENVIRONMENT) else _statements(tree)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement in a node, with what holds statements itself, as the handler of an exception."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        inside = getattr(node, name, None)
        for child in inside if isinstance(inside, list) else ():
            yield child
            yield from _statements(child)


def _of(root: Path, file: Path) -> Iterator[str]:
    place, found = file.relative_to(root), _found(root, file)
    if file.name == "utils.py":
        yield f"{place}: no module is called utils"
    for line, module in found.imports:
        for reason in _import_problems(place, module):
            yield f"{place}:{line}: {reason}"
    if place.as_posix() != "config/env.py":
        for line in found.environment:
            yield f"{place}:{line}: reads the environment; only config/env.py does"


def _circles(root: Path, files: list[Path]) -> list[str]:
    """Name a circle of modules, if there is one; an import inside a function or for types alone counts."""
    places = [file.relative_to(root) for file in files]
    named = {".".join(place.with_suffix("").parts).removesuffix(".__init__"): place for place in places}
    graph: dict[str, set[str]] = {}
    for name, place in named.items():
        imported = {module for _, module in _found(root, root / place).imports}
        graph[name] = {module if module in named else module.rpartition(".")[0] for module in imported} - {name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return ["modules import each other: " + " <- ".join(error.args[1])]
    return []


def _imports(nodes: list[ast.AST], place: Path) -> Iterator[tuple[int, str]]:
    """Yield every imported module under its full name, wherever in the file the import stands."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = place.parts[: -node.level] if node.level else ()
            base = ".".join([*above, node.module] if node.module else above)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _name(node.func) in _IMPORTERS and isinstance(node.args[0], ast.Constant):
            yield node.lineno, str(node.args[0].value)


def _import_problems(place: Path, module: str) -> Iterator[str]:
    package, target = place.parts[0], module.split(".", maxsplit=1)[0]
    if target in ("tests", "tools", "bench"):
        yield f"imports {module}; the program does not need its tools"
    if package in ORDER and target in ORDER and ORDER.index(target) < ORDER.index(package):
        yield f"imports {module}; {package} stands below {target}"
    elif package == "analysis" and target not in FOR_ANALYSIS and target not in sys.stdlib_module_names:
        yield f"imports {module}; analysis takes NumPy, NLTK and the standard library only"
    if target in ("aiohttp", "openai") and place.parts[:2] != ("judging", "endpoints"):
        yield f"imports {module}; only the room judging/endpoints does"
    if module.startswith("annotation.core.database.prepared") and not PREPARED_FOR & {*place.parts[1:2]}:
        yield f"imports {module}; only the rooms {', '.join(sorted(PREPARED_FOR))} do"
    if target == "environ" and place.as_posix() != "config/env.py":
        yield f"imports {module}; only config/env.py reads the environment"


def _environment(nodes: list[ast.AST], *, starter: bool) -> Iterator[int]:
    """Yield lines that touch the environment; a starter may name the settings."""
    allowed = {id(node.func.value) for node in nodes if starter and _names_settings(node)}  # type: ignore[attr-defined]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            yield from (node.lineno for alias in node.names if alias.name in _ENVIRONMENT)
        elif isinstance(node, ast.Attribute) and _name(node) in _OS_ENVIRONMENT and id(node) not in allowed:
            yield node.lineno


def _names_settings(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and _name(node.func) == "os.environ.setdefault"
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == "DJANGO_SETTINGS_MODULE"
    )


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.slow
def test_every_import_goes_down_the_order() -> None:
    assert problems(ROOT) == []


def test_every_package_of_the_order_is_there_to_be_checked() -> None:
    assert [package for package in ORDER if not list((ROOT / package).rglob("*.py"))] == []


def test_every_room_says_which_rooms_it_may_use() -> None:
    rooms = [file for app in ("annotation", "judging", "reporting") for file in (ROOT / app).glob("*/**/__init__.py")]
    rooms = [file for file in rooms if not {"management", "migrations", "templatetags"} & {*file.parts}]

    assert len(rooms) > 60
    assert [
        str(file)
        for file in rooms
        if "May use" not in (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "")
    ] == []


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        pytest.param("annotation/a.py", "import judging.models\n", "stands below judging", id="import"),
        pytest.param("annotation/a.py", "from judging import models\n", "stands below judging", id="from"),
        pytest.param("annotation/a.py", "def f():\n    from judging import x\n", "a.py:2:", id="inside a function"),
        pytest.param(
            "annotation/a.py", "import importlib\nimportlib.import_module('judging.x')\n", "below", id="by name"
        ),
        pytest.param("annotation/models/a.py", "from ...judging import x\n", "stands below judging", id="relative"),
        pytest.param("judging/a.py", "import reporting\n", "stands below reporting", id="judging up"),
        pytest.param("reporting/a.py", "from config import settings\n", "stands below config", id="reporting up"),
        pytest.param(
            "annotation/a.py", "from config.env import secret\n", "stands below config", id="annotation to config"
        ),
        pytest.param("analysis/a.py", "import annotation\n", "stands below annotation", id="analysis up"),
        pytest.param("analysis/a.py", "import django\n", "NumPy", id="analysis with a framework"),
        pytest.param("analysis/a.py", "if x:\n    import scipy.stats\n", "NumPy", id="analysis with SciPy"),
        pytest.param(
            "judging/methods/a.py",
            "from openai import AsyncOpenAI\n",
            "only the room judging/endpoints",
            id="openai",
        ),
        pytest.param("judging/a.py", "import os\nkey = os.environ['KEY']\n", "a.py:2: reads the env", id="environ"),
        pytest.param("judging/a.py", "import os\nos.getenv('KEY')\n", "reads the environment", id="getenv"),
        pytest.param("judging/a.py", "from os import environ\n", "reads the environment", id="from os"),
        pytest.param("config/settings.py", "import environ\n", "only config/env.py", id="environ package"),
        pytest.param("config/wsgi.py", "import os\nos.environ.setdefault('KEY', '')\n", "reads the env", id="starter"),
        pytest.param(
            "annotation/members/a.py",
            "from annotation.core.database.prepared import Prepared\n",
            "only the rooms",
            id="prepared",
        ),
        pytest.param("reporting/utils.py", "", "no module is called utils", id="utils"),
        pytest.param("reporting/a.py", "from tests.factories import make_study\n", "does not need", id="tests"),
    ],
)
def test_a_forbidden_arrow_is_found(tmp_path: Path, file: str, text: str, reason: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text, encoding="utf-8")

    found = problems(tmp_path)

    assert len(found) == 1
    assert reason in found[0]


def test_a_circle_that_an_import_in_a_function_closes_is_found(tmp_path: Path) -> None:
    (tmp_path / "judging").mkdir()
    (tmp_path / "judging/a.py").write_text("from judging.b import x\n", encoding="utf-8")
    (tmp_path / "judging/b.py").write_text("def f():\n    from judging import a\n", encoding="utf-8")

    assert problems(tmp_path) == ["modules import each other: judging.a <- judging.b <- judging.a"]


def test_what_is_allowed_is_not_complained_of(tmp_path: Path) -> None:
    allowed = {
        "config/env.py": "import os\nimport environ\nos.environ['A']\n",
        "config/wsgi.py": "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'config.settings')\n",
        "config/__main__.py": "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'config.settings')\n",
        "reporting/a.py": "import analysis\nfrom annotation import models\nfrom judging.models import Run\n",
        "judging/endpoints/client.py": "import openai\n",
        "annotation/rating/a.py": "from .b import c\nfrom annotation import d\n",
        "analysis/a.py": "import math\nimport numpy as np\nfrom nltk import stem\nfrom analysis.b import c\n",
    }
    for file, text in allowed.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")

    assert problems(tmp_path) == []
