"""A window of headless Chromium, in the words of somebody who sits before it."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

SECONDS = 20
AXE = Path(__file__).parent / "axe" / "axe.min.js"
WIDE, NARROW = 1200, 320
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_AXE_RUN = """
const told = arguments[arguments.length - 1];
axe.run(document, {runOnly: {type: "tag", values: arguments[0]}, resultTypes: ["violations"]}).then(
  (found) => told(found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html}`))),
  (error) => told([String(error)]));
"""
_ANOTHER = "return performance.timeOrigin !== arguments[0] && document.readyState === 'complete'"


def start(profile: Path) -> webdriver.Chrome:
    """A browser with a new, empty profile; the programs are those on PATH, nothing is downloaded."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # Whatever a page opens on its own ends the test.
    options.unhandled_prompt_behavior = "ignore"
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


class Window:
    """One person's window onto one server. ``url`` is the server's; addresses are below it."""

    def __init__(self, driver: webdriver.Chrome, url: str, shots: Path) -> None:
        self.driver = driver
        self.url = url
        self._shots = shots
        self._expected: set[int] = set()
        self._ends = False
        self._command("Network.clearBrowserCookies")
        self._command("Emulation.setScriptExecutionDisabled", value=False)
        # Keys reach the page whatever else goes on on the machine.
        self._command("Emulation.setFocusEmulationEnabled", enabled=True)
        self.look()

    def _command(self, name: str, **arguments: Any) -> None:
        self.driver.execute_cdp_cmd(name, arguments)

    # --- what is seen ---

    def look(self, width: int = WIDE, colours: str = "light") -> None:
        """Give the window a width, in CSS pixels, and the system ``light`` or ``dark`` colours."""
        self._command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        # Nothing moves: a colour that is half way to another would be found to be hard to read.
        wanted = {"prefers-color-scheme": colours, "prefers-reduced-motion": "reduce"}
        self._command("Emulation.setEmulatedMedia", features=[{"name": k, "value": v} for k, v in wanted.items()])

    @contextmanager
    def without_javascript(self) -> Iterator[None]:
        """No script of a page runs."""
        self._command("Emulation.setScriptExecutionDisabled", value=True)
        yield
        self._command("Emulation.setScriptExecutionDisabled", value=False)

    @property
    def text(self) -> str:
        """What can be read in the main part of the page."""
        return self.find("main").text

    @property
    def address(self) -> str:
        """The address shown, below the server's."""
        return self.driver.current_url.removeprefix(self.url)

    @property
    def status(self) -> int:
        """The status of the answer that is shown."""
        return self.run("return performance.getEntriesByType('navigation')[0].responseStatus")

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    def find(self, css: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def entry(self, words: str) -> WebElement:
        """The one entry whose text has these words."""
        (found,) = [each for each in self.all("main article") if words in each.text]
        return found

    def opened(self, words: str) -> WebElement:
        """The same, opened by a click on its row unless it is open."""
        entry = self.entry(words)
        if not entry.find_elements(By.CSS_SELECTOR, "[open]"):
            self.click(entry.find_element(By.CSS_SELECTOR, "summary"))
        return entry

    def button(self, name: str, inside: WebElement | None = None) -> WebElement:
        """The one button or link of that name that is shown, below an element or in the main part."""
        within = inside or self.find("main")
        controls = within.find_elements(By.CSS_SELECTOR, "button, a, summary")
        (found,) = [each for each in controls if each.is_displayed() and each.text.strip() == name]
        return found

    def wait(self, until: Callable[[], Any]) -> Any:
        """Wait until something holds; what it gave."""
        # Between two pages the driver may have no answer.
        wait = WebDriverWait(self.driver, SECONDS, poll_frequency=0.02, ignored_exceptions=[WebDriverException])
        return wait.until(lambda _: until())

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script as the browser's own tools do."""
        return self.driver.execute_script(script, *arguments)

    # --- what is done ---

    def open(self, address: str) -> None:
        self.driver.get(self.url + address)
        self.wait(lambda: self.run("return document.readyState") == "complete")

    @contextmanager
    def turning(self, status: int = 200) -> Iterator[None]:
        """What is done in here leads to another page, with that status."""
        self.expect(status)
        before = self.run("return performance.timeOrigin")
        yield
        self.wait(lambda: self.run(_ANOTHER, before))
        assert self.status == status, self.text

    def click(self, what: WebElement) -> None:
        self.run("arguments[0].scrollIntoView({block: 'center'})", what)
        what.click()

    def press(self, *keys: str) -> None:
        """Keys on whatever has the focus."""
        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(key).perform()

    def expect(self, status: int) -> None:
        """From now on an answer with that status is nothing to complain of."""
        self._expected.add(status)

    def expect_end(self) -> None:
        """From now on the server may be gone, and what a page asks of it goes nowhere."""
        self._ends = True

    def chord(self, held: str, key: str) -> None:
        """A key while another is held."""
        ActionChains(self.driver, duration=0).key_down(held).send_keys(key).key_up(held).perform()

    def click_at(self, x: int, y: int) -> None:
        """A click on whatever is at a place of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self._command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def write(self, field: WebElement, text: str) -> None:
        """Put a text in the place of what stands in a field."""
        field.clear()
        field.send_keys(text)

    # --- what is found out ---

    def shot(self, name: str) -> None:
        """Keep a picture of the whole page."""
        wide, high = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        self._command(
            "Emulation.setDeviceMetricsOverride", width=wide, height=min(high, 3000), deviceScaleFactor=1, mobile=False
        )
        self.driver.save_screenshot(str(self._shots / f"{name}.png"))
        self._command("Emulation.setDeviceMetricsOverride", width=wide, height=900, deviceScaleFactor=1, mobile=False)

    def look_over(self, name: str, *looks: tuple[int, str]) -> None:
        """Open to everybody and within the window, wide and narrow, in light and in dark; each is kept as a picture."""
        for width, colours in looks or ((WIDE, "light"), (NARROW, "dark")):
            self.look(width, colours)
            assert self.barriers() == []
            assert self.run("return document.documentElement.scrollWidth") <= width
            self.shot(f"{name}-{width}-{colours}")
        self.look()

    def barriers(self) -> list[str]:
        """What keeps people out of the page, by what axe-core can check of WCAG 2.2 AA and good practice."""
        if not self.run("return 'axe' in window"):
            self.run(AXE.read_text(encoding="utf-8"))
        return self.driver.execute_async_script(_AXE_RUN, _STANDARDS)

    def header(self, name: str) -> str | None:
        """A header of the page that is shown, asked for once more."""
        script = "fetch(location.href).then((answer) => arguments[1](answer.headers.get(arguments[0])))"
        return self.driver.execute_async_script(script, name)

    def loaded(self) -> list[str]:
        """The addresses of everything that the page fetched."""
        return self.run("return performance.getEntriesByType('resource').map((each) => each.name)")

    def complaints(self) -> list[str]:
        """What the browser's console says since the last time; an answer that was expected is no complaint."""
        said = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in {"SEVERE", "WARNING"}]
        return [each for each in said if not self._was_expected(each)]

    def _was_expected(self, message: str) -> bool:
        if self._ends and re.search(r"/mem/changes\?\S* - Failed to load resource: net::ERR_", message):
            return True
        found = re.search(r"responded with a status of (\d+)", message)
        return found is not None and int(found[1]) in self._expected

    def leave(self) -> None:
        """Go away, whatever stands in the fields, and keep nothing of this visit."""
        if self.driver.current_url.startswith("http"):
            self._command("Storage.clearDataForOrigin", origin=self.url, storageTypes="local_storage")
        self.driver.get("about:blank")
