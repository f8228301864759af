"""Forms of a page, as a browser sends them."""

from datetime import date
from html.parser import HTMLParser

from tests.unit.server.page.markup import Markup


def read_by_browser(html):
    """A page as a browser reads it: one kind of line end, and no NUL."""
    return html.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\N{REPLACEMENT CHARACTER}")


def kept_by_browser(kind, value):
    """The value of an input as it is sent when nobody touches it: a field of one line has no line end, a date is one."""
    if kind in {"hidden", "checkbox", "radio"}:
        return value
    value = value.replace("\n", "").replace("\r", "")
    if kind != "date":
        return value
    try:
        return value if date.fromisoformat(value).isoformat() == value else ""
    except ValueError:
        return ""


class Forms(HTMLParser):
    """Every form of a page: ``action``, ``method``, ``fields`` with the values that it was shown with, ``buttons``.

    ``boxes`` are the fields of boxes that are not ticked, by the words beside them; those of a form elsewhere on the
    page are in ``outside``, by the id of that form.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.all: list[dict] = []
        self._form: dict | None = None
        self._textarea: str | None = None
        self._select: str | None = None
        self._in_button = False
        self.outside: dict[str, dict[str, tuple[str, str]]] = {}
        self._box: tuple[dict[str, tuple[str, str]], str, str] | None = None
        self.feed(read_by_browser(html))
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "form":
            self._form = self._begun(attributes)
        self._note(attributes)
        if self._form is None or "form" in attributes:
            return
        fields = self._form["fields"]
        if tag == "input" and "name" in attributes:
            if attributes.get("type") in {"checkbox", "radio"} and "checked" not in attributes:
                return
            kind = attributes.get("type", "text")
            usual = "on" if kind in {"checkbox", "radio"} else ""
            fields[attributes["name"]] = kept_by_browser(kind, attributes.get("value", usual))
        elif tag == "textarea":
            self._textarea = attributes["name"]
            fields[self._textarea] = ""
        elif tag == "select":
            self._select = attributes["name"]
        elif tag == "option" and self._select is not None:
            value = attributes.get("value", "")
            self._form["choices"].setdefault(self._select, []).append(value)
            if "selected" in attributes or self._select not in fields:
                fields[self._select] = value
        elif tag == "button":
            self._in_button = True
            self._form["buttons"].append("")
            self._form["keys"].append(attributes.get("data-key"))

    def _begun(self, attributes):
        form: dict = {
            "action": attributes.get("action"),
            "method": attributes.get("method", "get"),
            "fields": {},
            "buttons": [],
            "keys": [],
            "choices": {},
            "boxes": self.outside.setdefault(attributes["id"], {}) if "id" in attributes else {},
        }
        self.all.append(form)
        return form

    def _note(self, attributes):
        """Keep what a radio button chooses, and a box until the words beside it come."""
        if attributes.get("type") == "radio" and self._form is not None:
            self._form["choices"].setdefault(attributes["name"], []).append(attributes["value"])
        if attributes.get("type") != "checkbox" or "name" not in attributes:
            return
        own = self._form["boxes"] if self._form else {}
        boxes = self.outside.setdefault(attributes["form"], {}) if "form" in attributes else own
        self._box = (boxes, attributes["name"], attributes.get("value", "on"))

    def handle_endtag(self, tag):
        if tag == "form":
            self._form = None
        elif tag == "textarea" and self._textarea is not None:
            # The first newline of a textarea is not part of its value.
            fields = self._form["fields"]
            fields[self._textarea] = fields[self._textarea].removeprefix("\n")
            self._textarea = None
        elif tag == "select":
            self._select = None
        elif tag == "button":
            self._in_button = False

    def handle_data(self, data):
        if self._box is not None and data.strip():
            boxes, name, value = self._box
            boxes[data.strip()] = (name, value)
            self._box = None
        if self._textarea is not None:
            self._form["fields"][self._textarea] += data
        elif self._in_button:
            self._form["buttons"][-1] += data

    def named(self, button, **fields):
        """The first form with a button of these words, and fields of these values."""
        for form in self.all:
            if button in form["buttons"] and fields.items() <= form["fields"].items():
                return form
        message = f"no form with the button {button!r} and {fields}: {[form['buttons'] for form in self.all]}"
        raise AssertionError(message)


def ticked(form, *words):
    """The fields of a form with the boxes ticked that stand beside these words."""
    boxes = form["boxes"].items()
    return {**form, "fields": form["fields"] | dict(box for said, box in boxes if any(each in said for each in words))}


def well_made(answer):
    """The markup of an answer, in which every tag is closed, no heading left out, and no id given twice."""
    made = Markup(answer.text)
    assert made.unbalanced == []
    assert made.headings[0] == 1
    assert all(after - before <= 1 for before, after in zip(made.headings, made.headings[1:], strict=False))
    ids = [attributes["id"] for _, attributes in made.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    return made


def read(client, address):
    """The markup of a page."""
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    return well_made(answer)


def told(client, answer):
    """The markup of the page that a form led to."""
    assert answer.status_code == 303, Markup(answer.text).text
    return read(client, answer.headers["location"])


def refused(answer, status=409):
    """The page of a refused form: its markup, and its forms."""
    assert answer.status_code == status, answer.headers
    assert answer.headers["referrer-policy"] == "same-origin"
    return well_made(answer), Forms(answer.text)


def shown(client, address):
    """The forms of a page."""
    answer = client.get(address, headers={"Accept": "text/html"})
    assert answer.status_code == 200, answer.text
    return Forms(answer.text)


def sent(client, form, *, follow=False, **fields):
    """Send a form, with some of its fields changed, as a browser does: every line end as two characters."""
    said = {**form["fields"], **fields}
    said = {name: value.replace("\n", "\r\n") for name, value in said.items()}
    return client.post(form["action"], data=said, follow_redirects=follow, headers={"Accept": "text/html"})
