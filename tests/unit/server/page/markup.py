"""HTML taken apart, as far as tests look at it."""

from html.parser import HTMLParser

from catmem.plugins.page.rendering import static_address
from catmem.plugins.page.site import STATIC

APART = {"td", "th", "li", "dt", "dd", "p", "h1", "h2", "h3", "div", "span", "option", "a"}
VOID = {"meta", "link", "input", "br", "img", "hr", "rect", "circle", "path"}


class Markup(HTMLParser):
    """Every tag with its attributes and the text in it, in order. ``unbalanced`` are tags that do not close."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.unbalanced: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        self.unbalanced += self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if tag in APART:
            self.texts.append((tag, " "))
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if self._open:
            self.texts.append((self._open[-1], data))

    def all(self, *names):
        return [attributes for tag, attributes in self.tags if tag in names]

    @property
    def foreign_scripts(self) -> list[object]:
        """Every script that is not a file of the page: with another address, or with text of its own."""
        own = [{"type": "module", "src": static_address(path.name)} for path in STATIC.glob("*.js")]
        inline = [text for tag, text in self.texts if tag == "script" and text.strip()]
        return [*inline, *(each for each in self.all("script") if each not in own)]

    @property
    def headings(self) -> list[int]:
        return [int(tag[1]) for tag, _ in self.tags if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()]

    @property
    def text(self) -> str:
        return " ".join("".join(text for _, text in self.texts).split())
