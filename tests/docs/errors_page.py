"""The lists of docs/errors.md, made from the catalogue of errors (``catmem/errors.json``).

The text of the page before them stays.
"""

import textwrap
from typing import Any

from catmem import errors
from tests.docs.pages import ROOT, made_anew

PAGE = ROOT / "docs" / "errors.md"
BEGIN = "<!-- From here on made from catmem/errors.json by `make docs`. -->\n"
_STATUSES = {"http": "HTTP", "exit": "status"}
_OWN = {"http": "", "exit": "status "}
_THE_HINT_SAYS_IT = {
    f"The hint {what}" for what in ("lists them", "has the nearest", "has the slug", "has the command")
}


def page() -> str:
    """The whole page, with the lists made anew."""
    return made_anew(PAGE, BEGIN, tables())


def tables() -> str:
    """A section for each class; those of kinds of the class before stand below it. Codes that no error has have no line."""
    above: type[errors.CatmemError] = errors.CatmemError
    sections = []
    for name, listed in errors.catalogue().items():
        kind = getattr(errors, name)
        below = issubclass(kind, above) and above is not errors.CatmemError
        above = above if below else kind
        said = about(name, listed, errors.catalogue()[above.__name__] if below else {})
        parts = [f"{'###' if below else '##'} {name}\n", f"{said}\n" if said else "", rows(listed)]
        sections.append("\n".join(part for part in parts if part))
    return "\n".join(sections)


def about(name: str, listed: dict[str, Any], above: dict[str, Any]) -> str:
    """What is said of a class, from its statuses on, unless they are those of the class ``above``."""
    rest = ""
    if name == errors.CatmemError.__name__:
        rest = f" unless a section or a line says otherwise. No error has the code of its class alone: {never_raised()}"
    http = "" if name == errors.RequestError.__name__ else f", over HTTP {listed['http']}"
    statuses = f"Status {listed['exit']}{http}{rest}."
    if all(above.get(kind) == listed[kind] for kind in _STATUSES):
        statuses = ""
    return textwrap.fill(f"{statuses} {listed['about']}".strip(), 140, break_long_words=False)


def never_raised() -> str:
    """The codes that only stand for a class."""
    codes = {code: row for listed in errors.catalogue().values() for code, row in listed["codes"].items()}
    return ", ".join(f"`{code}`" for code, row in codes.items() if row["when"] == "never raised")


def rows(listed: dict[str, Any]) -> str:
    """A line for each code, with the statuses that are its own: when it comes, and what to do, unless the hint says it."""
    found = ""
    for code, row in listed["codes"].items():
        own = [f" ({called}{row[kind]})" for kind, called in _OWN.items() if kind in row]
        if row["when"] != "never raised":
            remedy = row["remedy"] if row["remedy"].endswith((".", ")")) else f"{row['remedy']}."
            if remedy.removesuffix(".") in _THE_HINT_SAYS_IT:
                remedy = ""
            found += f"- `{code}`{''.join(own)}: {row['when']}. {remedy}".rstrip() + "\n"
    return found
