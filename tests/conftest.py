"""What every test shares: which catmem is under test, and how long property tests search.

``HYPOTHESIS_PROFILE=thorough`` looks at 150 times as many examples as other runs.
"""

import atexit
import gc
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import catmem
from tests import places
from tests.sql.postgres import MISSING

ROOT = Path(__file__).parent.parent
LONG_TESTS = Path(__file__).parent / "long_tests.txt"
"""The functions of which a case takes long: `make test` leaves them out, as those that are marked as torture."""
LONG = 0.3
"""Seconds, on two quiet cores."""
NEVER_LONG = {"tests/unit/test_golden.py::test_the_prompt_is_the_golden_one"}
"""What runs each time, however long it takes: the prompts that people have cached."""
BROWSER = Path(__file__).parent / "browser"
"""Each of these tests takes that long."""

# Without bytecode each worker, and each `catmem` that a test starts, would compile all that it imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Records say what they say on every machine: no one's name.
os.environ["CATMEM_PERSON"] = ""
places.use_memory()
# What is known of the user's files stays out of the home of who runs the tests; the workers share it.
if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="catmem-cache-")
    atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)

# No deadline: a slow machine is no bug, and growth is measured by the benchmarks.
# In CI the same commit gives the same answer each time; the search for new examples goes on everywhere else.
settings.register_profile(
    "quick",
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=6_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Tests once collected stay to the end, so the garbage collector need not look at them, then or later.

    What tests make themselves it looks at as ever.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", type=float, default=1, metavar="SHARE", help="which part of the long tests to run")
    parser.addoption("--lot", default="", help="what draws them, such as the name of a commit")
    parser.addoption("--note-long", action="store_true", help=f"write {LONG_TESTS.name} anew, from this run")


# With the folder catmem/plugins away the tests of the core are run: those of files that speak of nothing that plugins add.
CORE_ALONE = importlib.util.find_spec("catmem.plugins") is None
_PLUGGED = re.compile(
    r"""catmem\.plugins|sqlite|postgres|registry\(|"plugins"|on_a_page|"(migrate|sort|tidy|import|simulate|hermes|from-hermes)"|catmem\ sort""",
    re.VERBOSE,
)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    path = collection_path / "conftest.py" if collection_path.is_dir() else collection_path
    if not (CORE_ALONE and path.suffix == ".py" and path.is_file()):
        return None
    return (
        (bool(_PLUGGED.search(path.read_text(encoding="utf-8"))) and path.parent != ROOT / "tests")
        or _needs(path)
        or None
    )


@cache
def _needs(path: Path) -> bool:
    """Whether a file of tests, or one that it imports, imports a plugin."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    places = (ROOT / Path(*name.split(".")) for name in _names(text))
    return bool(re.search("^from catmem.plugins", text, re.MULTILINE)) or any(
        _needs(place.with_suffix(".py")) for place in places
    )


def _names(text: str) -> Iterator[str]:
    for module, name in re.findall(r"^from ((?:tests|benchmarks)[\w.]*) import (\w+)", text, re.MULTILINE):
        yield from (module, f"{module}.{name}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the long tests a share is drawn, the same one for the same lot."""
    long = set(LONG_TESTS.read_text(encoding="utf-8").split())
    for item in items:
        if item.get_closest_marker("postgresql"):
            item.add_marker(pytest.mark.skipif(bool(MISSING), reason=MISSING))
            item.add_marker("torture")
        elif function_of(item.nodeid) in long or item.path.is_relative_to(BROWSER):
            item.add_marker("torture")
    share, lot = config.getoption("--torture"), config.getoption("--lot")
    left = {item for item in items if item.get_closest_marker("torture") and _drawn(lot + item.nodeid) >= share}
    if left:
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]


_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--note-long") and not hasattr(session.config, "workerinput"):
        long = {function_of(nodeid) for nodeid, seconds in _seconds.items() if seconds >= LONG} - NEVER_LONG
        LONG_TESTS.write_text("".join(f"{each}\n" for each in sorted(long)), encoding="utf-8")


def function_of(nodeid: str) -> str:
    """The test function of a case, without its parameters."""
    return nodeid.partition("[")[0]


def _drawn(text: str) -> float:
    return zlib.crc32(text.encode()) / (1 << 32)


def pytest_report_header() -> str:
    return f"catmem {catmem.__version__}, {'from the checkout' if _in_checkout() else 'installed'}"


def pytest_sessionstart(session: pytest.Session) -> None:
    # CI sets this for the run that is about the wheel, so that it cannot test the checkout by accident.
    if os.environ.get("CATMEM_TESTED") == "wheel" and _in_checkout():
        raise pytest.UsageError("CATMEM_TESTED=wheel, but `import catmem` found the checkout")


def _in_checkout() -> bool:
    return Path(catmem.__file__).parent.parent == ROOT


@pytest.fixture
def tmp_path(request, tmp_path):
    """A fresh folder, on the disk where that is what counts (``tests.places``)."""
    if places.disk() is None or not places.is_on_disk(request.path, ROOT / "tests"):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="catmem-test-", dir=places.disk(), ignore_cleanup_errors=True) as made:
        yield Path(made)


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the checkout, or of what stands for it (an unpacked source distribution)."""
    return ROOT


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder of the catmem package under test."""
    return Path(catmem.__file__).parent
