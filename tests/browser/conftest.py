"""What every test of the page in a browser has: a server, and a window of Chromium onto it.

``CATMEM_SCREENSHOTS`` names a folder to keep the pictures in.
"""

import os
import shutil
from pathlib import Path

import pytest

from tests.browser.serving import make_root, serving

MISSING = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
WHY = f"{' and '.join(MISSING)} missing (Debian: chromium, chromium-driver)"
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and MISSING and not os.environ.get("CI"):
            item.add_marker(pytest.mark.skip(reason=WHY))


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    from tests.browser.window import start

    if MISSING:
        pytest.fail(WHY)
    driver = start(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def shots(tmp_path_factory):
    """The folder for pictures."""
    named = os.environ.get("CATMEM_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def calm_server(tmp_path_factory):
    """A server for tests that change nothing."""
    with serving(make_root(tmp_path_factory.mktemp("calm") / "root")) as server:
        yield server


@pytest.fixture
def server(tmp_path):
    with serving(make_root(tmp_path / "root")) as server:
        yield server


@pytest.fixture
def window_onto(browser, shots):
    """Makes a window onto a server; at the end the console must have nothing to say."""
    from tests.browser.window import Window

    made = []

    def onto(server):
        made.append(Window(browser, server.url, shots))
        return made[-1]

    yield onto
    for window in made:
        complaints = window.complaints()
        window.leave()
        assert complaints == []


@pytest.fixture
def window(server, window_onto):
    return window_onto(server)


@pytest.fixture
def calm(calm_server, window_onto):
    return window_onto(calm_server)
