"""``catmem.yaml``: the configuration of a root, its categories, and the selectors that name them.

``schemas/config.schema.json`` checks it. Every key is optional, and so is the file: a folder without one works on the
defaults.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from catmem.config.json_schema import check_file, shown
from catmem.config.yamlfile import KeyPath, YamlFile, load_yaml, parse_yaml
from catmem.errors import ConfigError, UnreadableError, wrong_type
from catmem.model.document import Document
from catmem.names import DECLARED_RULE, UNCATEGORIZED, is_declared, is_name, slugify
from catmem.resources import schema

_PATTERN_RULE = (
    "A pattern is made of small letters, digits, '_', '-', and '*' for any characters, without a '-' at its ends or "
    "beside another; '?' and '[' are no part of one, and a list item is one selector."
)


@dataclass(frozen=True)
class Selectors:
    """Which categories a list such as ``["finance-*", "!finance-payroll"]`` names.

    A selector is the slug of a category, a pattern over slugs (``*`` stands for any characters), or either with ``!``
    in front, which takes away. The last one that matches a category decides; what none matches is not selected.

    Two rules keep a pattern from reaching further than its author could see: in a closed taxonomy it selects only
    declared categories, and ``__uncategorized__`` is selected by its exact name alone. Taking away has no such limit.
    ``declared`` are the slugs of a closed taxonomy; ``None`` stands for an open one.
    """

    patterns: tuple[str, ...] = ()
    declared: frozenset[str] | None = None

    def deciding(self, category: str) -> int | None:
        """The index of the last selector that matches the category (a slug)."""
        return max(self._applying(category), default=None)

    def matches(self, category: str) -> bool:
        """Whether the category is selected."""
        index = self.deciding(category)
        return index is not None and not self.patterns[index].startswith("!")

    def takes_away(self, category: str) -> bool:
        """Whether a selector with ``!`` decides on the category."""
        index = self.deciding(category)
        return index is not None and self.patterns[index].startswith("!")

    def position(self, category: str) -> int | None:
        """The index of the first selector that names a selected category, for prompts in the order of the profile."""
        if not self.matches(category):
            return None
        return min(index for index in self._applying(category) if not self.patterns[index].startswith("!"))

    @property
    def names(self) -> set[str]:
        """The categories that are selected by name, and by no pattern."""
        return {each for each in self.patterns if not is_pattern(each) and not each.startswith("!")}

    def unmatched(self, categories: Iterable[str]) -> list[str]:
        """The selectors, those with ``!`` too, that match none of ``categories``: most likely slips."""
        found = {index for category in categories for index in self._applying(category)}
        return [pattern for index, pattern in enumerate(self.patterns) if index not in found]

    @cached_property
    def _named(self) -> Mapping[str | None, list[int]]:
        """The indexes of the selectors by the slug that each names; those of patterns under ``None``."""
        found: dict[str | None, list[int]] = {}
        for index, (_, name) in enumerate(map(split, self.patterns)):
            found.setdefault(None if is_pattern(name) else name, []).append(index)
        return found

    def _applying(self, category: str) -> list[int]:
        """The indexes of the selectors that match the category, those of patterns last."""
        found = [*self._named.get(category, ())]
        out_of_reach = category == UNCATEGORIZED or (self.declared is not None and category not in self.declared)
        for index in self._named.get(None, ()):
            negative, name = split(self.patterns[index])
            if (negative or not out_of_reach) and fnmatchcase(category, name):
                found.append(index)
        return found


# A fleet asks for the same few selectors again and again.
@lru_cache(maxsize=4096)
def split(selector: str) -> tuple[bool, str]:
    """``(takes away, slug or pattern)`` of a selector. Raises ``EditError`` (``wrong_type``)."""
    if not isinstance(selector, str):
        raise wrong_type("a selector", selector)
    return (True, selector[1:]) if selector.startswith("!") else (False, selector)


def is_pattern(name: str) -> bool:
    """Whether a selector (without its ``!``) is a pattern, not a slug."""
    return "*" in name


def selector_fault(selector: str) -> tuple[str, str] | None:
    """``(message, hint)`` if ``selector`` is neither a slug nor a pattern that slugs may match."""
    # A slip in one that takes away would otherwise show what it was to hide.
    negative, name = split(selector)
    # With a letter for each star a pattern that slugs may fit is a slug itself.
    example, slug = name.replace("*", "x"), slugify(name)
    if name and slugify(example) == example:
        return None
    if {"*", "?", "["} & set(name):
        return f"{selector!r} is not a selector: no category's slug fits it", _PATTERN_RULE
    message = f"{selector!r} is not a selector: a selector is a category's slug or a pattern over slugs"
    return message, f"Write {'!' * negative + slug!r}." if slug else "Write a slug such as 'communication-style'."


CONFIG_NAME = "catmem.yaml"

DEFAULT_CLOCK_SKEW = 3600
"""Seconds that the time of an envelope may lie before or after the time here."""

RESERVED = ("person", "external")
"""Agents that are no profile: a writer without one, and an external writer."""

DEFAULT_STALE_AFTER = 90
"""Days, where neither category, domain, profile nor root says otherwise."""


class Category(NamedTuple):
    """A declared category: ``stale_after`` is in days, ``schema`` what its entries must be like."""

    slug: str
    title: str
    aliases: tuple[str, ...] = ()
    domain: str | None = None
    require_tags: tuple[str, ...] = ()
    stale_after: int | None = None
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Taxonomy:
    """The declared categories of a root, by slug, in the order of the file."""

    closed: bool = False
    card_titles: bool = False
    categories: Mapping[str, Category] = field(default_factory=dict)

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Each alias, as a slug, with the category it stands for."""
        return {alias: category.slug for category in self.categories.values() for alias in category.aliases}

    def category(self, name: str) -> str:
        """The category that a slug, a title or an alias names; empty for a name without a letter or a number."""
        if not isinstance(name, str):
            raise wrong_type("category", name)
        return self.of_slug(slugify(name))

    def named(self, name: str) -> str | None:
        """The declared category that a slug, a title or an alias names."""
        category = self.category(name)
        return category if category in self.categories or category == UNCATEGORIZED else None

    def of_slug(self, slug: str) -> str:
        """The category that a slug stands for: that of the alias, or the slug itself."""
        return self.aliases.get(slug, slug)

    def resolved(self, selectors: Iterable[str]) -> tuple[str, ...]:
        """The selectors with every exact name that is an alias replaced by its category."""
        return tuple(f"{'!' * negative}{self.of_slug(name)}" for negative, name in map(split, selectors))

    def selectors(self, patterns: tuple[str, ...]) -> Selectors:
        """The selectors of a profile for the categories of this root; the same again for the same patterns."""
        if patterns not in self._selectors:
            self._selectors[patterns] = Selectors(self.resolved(patterns), self.closed_slugs)
        return self._selectors[patterns]

    @cached_property
    def _selectors(self) -> dict[tuple[str, ...], Selectors]:
        return {}

    def declared(self) -> dict[str, str]:
        """Every declared slug, aliases and ``__uncategorized__`` included, with the category it stands for."""
        return {**{slug: slug for slug in self.categories}, **self.aliases, UNCATEGORIZED: UNCATEGORIZED}

    @property
    def closed_slugs(self) -> frozenset[str] | None:
        """The categories that patterns may select: the declared ones if the taxonomy is closed, else ``None`` (any)."""
        return frozenset((*self.categories, UNCATEGORIZED)) if self.closed else None

    def parse(self, data: str | bytes) -> Document:
        """A memory file as the root reads it. Raises ``NotUtf8Error`` and ``TooLargeError``."""
        from catmem.model.document import parse

        return parse(data, self.declared() if self.card_titles else None, aliases=self.aliases)


class DeclaredEntity(NamedTuple):
    """An entity that catmem.yaml declares: a text or a JSON value, and the profiles that may write or read it."""

    name: str
    content: Literal["text", "json"]
    writers: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()


class Signing(NamedTuple):
    """Whether envelopes must be signed, where keys are (``None``: in the home), how many seconds clocks may differ."""

    required: bool = False
    keys: str | None = None
    clock_skew: int = DEFAULT_CLOCK_SKEW
    ages_unsigned: bool = False


_NONE = Selectors()


class Approval(NamedTuple):
    """Which changes by ``agents`` wait for a person, and ``most`` of one for a file."""

    agents: Literal["off", "others", "all"] = "others"
    categories: Selectors = _NONE
    most: int = 20
    promote: Selectors = _NONE


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of the folder ``root``; ``path`` is its ``catmem.yaml``, or ``None`` if it has none.

    ``stale_after`` and ``domains`` (by domain) are in days, ``limits`` in characters by target.
    ``semantic_alert`` is the share of common words below which a write needs to be confirmed, 0 for never. ``secrets``
    is what becomes of a write with a secret in it; prompts withhold it in any case.
    ``prompt``, ``tag_schemas``, ``server``, ``lint`` and ``sync`` are as the file says them; profiles merge ``prompt``
    and ``limits`` under their own. ``approval`` is ``None`` where no write waits. ``agents`` gives the profile of each
    agent that is not called like its own, ``entities`` what is declared beside the files of profiles, by its name;
    ``steps`` are those of plugins that every write passes. ``is_empty``: its file is there and says nothing.
    """

    root: Path
    path: Path | None = None
    profiles: str = "profiles"
    homes: str = "homes"
    store: str = "files"
    on_drift: Literal["adopt", "refuse", "merge"] = "adopt"
    on_stale: Literal["refuse", "branch"] = "refuse"
    durability: Literal["full", "journal"] = "full"
    semantic_alert: float = 0
    secrets: Literal["ask", "refuse", "withhold", "allow"] = "ask"
    taxonomy: Taxonomy = field(default_factory=Taxonomy)
    tag_schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    stale_after: int = DEFAULT_STALE_AFTER
    domains: Mapping[str, int] = field(default_factory=dict)
    prompt: Mapping[str, Any] = field(default_factory=dict)
    signing: Signing = field(default_factory=Signing)
    approval: Approval | None = None
    agents: Mapping[str, str] = field(default_factory=dict)
    entities: Mapping[str, DeclaredEntity] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    lint: Mapping[str, Any] = field(default_factory=dict)
    sync: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    is_empty: bool = False

    @property
    def profiles_dir(self) -> Path:
        """The folder of profile files, absolute."""
        return self.root / expand_user(self.profiles)

    @property
    def on_drift_of_texts(self) -> Literal["adopt", "refuse"]:
        """``on_drift`` for a write that brings a whole text, or merges by itself: ``merge`` adopts there."""
        return "refuse" if self.on_drift == "refuse" else "adopt"

    def home(self, profile: str) -> Path:
        """The folder of the memory files of the profile of that name, absolute; symbolic links are not resolved."""
        refuse_bad_name(profile)
        return self.root / self.home_template.replace("{name}", profile)

    @property
    def home_template(self) -> str:
        """The folder of the memory files of a profile, whose name stands in it as ``{name}``."""
        template = expand_user(self.homes)
        return template if "{name}" in template else f"{template}/{{name}}"


NO_ROOT = Config(Path())
"""What holds where no root is: every default."""


def find_root(start: str | Path) -> Path | None:
    """The nearest folder, ``start`` itself or one above it, that holds a ``catmem.yaml``."""
    folder = _absolute(start)
    return next((root for root in (folder, *folder.parents) if os.path.lexists(root / CONFIG_NAME)), None)


def load_config(root: str | Path) -> Config:
    """The configuration of the folder ``root``; all defaults if it has no ``catmem.yaml``."""
    folder = _absolute(root)
    if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises for a name that is too long
        raise UnreadableError(
            "no such folder", code="missing", path=folder, hint="Name an existing folder as the root."
        )
    path = folder / CONFIG_NAME
    # A link that leads nowhere is no missing file: with the defaults in its place a closed taxonomy would be open.
    if not os.path.lexists(path):
        if os.path.lexists(other := path.with_suffix(".yml")):
            hint = f"Rename it to {CONFIG_NAME}: until then nothing reads it."
            raise ConfigError(f"the configuration of a root is called {CONFIG_NAME}", path=other, hint=hint)
        return Config(folder)
    return _config(folder, load_yaml(path))


def config_of(root: str | Path, text: str) -> Config:
    """The configuration that a text as its ``catmem.yaml`` would give ``root``. Raises ``ConfigError``."""
    folder = _absolute(root)
    return _config(folder, parse_yaml(text, folder / CONFIG_NAME))


def days(text: str) -> int:
    """The number of days that a checked value such as ``"90d"`` says."""
    return int(text.removesuffix("d"))


def seconds(text: str) -> int:
    """The number of seconds that a checked value such as ``"90s"``, ``"5m"`` or ``"1h"`` says."""
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def refuse_bad_name(name: str, path: Path | None = None) -> None:
    """Raise ``ConfigError`` (code ``bad_name``) unless ``name`` can be a profile's; so no path is made of ``../x``."""
    if name in RESERVED:
        hint = "In the history that name stands for a writer without a profile, or for other programs. Choose another."
    elif is_name(name):
        return
    else:
        hint = "A name has 1 to 64 small letters, digits, '_' and '-', and begins with a letter or digit."
        hint += f" Use {slugify(name)}." if is_name(slugify(name)) else ""
    raise ConfigError(f"{shown(name)} cannot be the name of a profile", code="bad_name", path=path, hint=hint)


def expand_user(text: str) -> str:
    """``text`` with a leading ``~`` replaced by the home folder of the user who runs this."""
    if text != "~" and not text.startswith("~/"):
        return text
    try:
        return str(Path.home()) + text[1:]
    except RuntimeError:
        hint = "Set HOME, or write the path without '~'."
        raise ConfigError("'~' has no meaning here: this user has no home folder", code="no_home", hint=hint) from None


def user_folder() -> Path:
    """The folder of what a user keeps for catmem outside of roots: keys, tokens, and whom ``catmem mcp`` serves."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or expand_user("~/.config"), "catmem")


def _absolute(path: str | Path) -> Path:
    # Not resolve(): messages should name the path as the user knows it, and links are judged where files are opened.
    return Path(os.path.abspath(path))  # noqa: PTH100 - absolute() keeps "..", which parents would then climb through


def _config(root: Path, source: YamlFile) -> Config:
    data = check_file(source, "config")
    _check_settings(source, data)
    taxonomy = data.get("taxonomy", {})
    domains = data.get("domains", {})
    plain = (
        *("profiles", "homes", "store", "on_drift", "on_stale", "durability", "secrets"),
        *("limits", "prompt", "agents", "lint", "sync"),
    )
    declared = Taxonomy(
        closed=taxonomy.get("closed", False),
        card_titles=taxonomy.get("card_titles", False),
        categories=_categories(source, taxonomy.get("categories", {})),
    )
    return Config(
        root=root,
        path=root / CONFIG_NAME,
        taxonomy=declared,
        tag_schemas=data.get("tags", {}),
        stale_after=days(data["stale_after"]) if "stale_after" in data else DEFAULT_STALE_AFTER,
        semantic_alert=data.get("semantic_alert", 0),
        domains={name: days(said["stale_after"]) for name, said in domains.items() if "stale_after" in said},
        signing=_signing(source, data.get("signing", {})),
        approval=_approval(source, data.get("approval"), declared),
        entities=_entities(source, data.get("entities", {})),
        server=data.get("server", {}),
        steps=tuple(data.get("steps", ())),
        is_empty=not data,
        **{key: data[key] for key in plain if key in data},
    )


def _signing(source: YamlFile, settings: Mapping[str, Any]) -> Signing:
    keys = settings.get("keys")
    if keys is not None:
        _check_tilde(source, ("signing", "keys"), keys)
    ages_unsigned = settings.get("clock_skew_for") == "all"
    return Signing(settings.get("required", False), keys, seconds(settings.get("clock_skew", "1h")), ages_unsigned)


def _approval(source: YamlFile, settings: str | Mapping[str, Any] | None, taxonomy: Taxonomy) -> Approval | None:
    if settings is None or settings == "off":
        return None
    keys: dict[str, Any] = {"agents": settings} if isinstance(settings, str) else dict(settings)
    for key in ("categories", "promote"):
        _check_selectors(source, ("approval", key), keys.get(key, ()))
        keys[key] = Selectors(taxonomy.resolved(keys.get(key, ())), taxonomy.closed_slugs)
    return Approval(**keys)


def _check_selectors(source: YamlFile, key: KeyPath, selectors: Sequence[str]) -> None:
    for index, selector in enumerate(selectors):
        wrong = selector_fault(selector)
        if wrong:
            raise source.fault((*key, index), *wrong, code="selector")
    if selectors and all(selector.startswith("!") for selector in selectors):
        message = "the selectors only take away, so they fit nothing"
        raise source.fault(key, message, "Put '*' in front of them.", code="selector")


def _entities(source: YamlFile, declared: Mapping[str, Mapping[str, Any]]) -> dict[str, DeclaredEntity]:
    found: dict[str, DeclaredEntity] = {}
    for name, settings in declared.items():
        if not is_declared(name):
            raise source.fault(("entities", name), f"{shown(name)} cannot be declared", DECLARED_RULE)
        writers, readers = (tuple(settings.get(key, ())) for key in ("writers", "readers"))
        found[name] = DeclaredEntity(name, settings["content"], writers, readers)
    return found


def _check_settings(source: YamlFile, data: Mapping[str, Any]) -> None:
    """Note what is wrong with paths and names, as far as the schema cannot say it."""
    homes = data.get("homes", "homes")
    if re.search("[{}]", homes.replace("{name}", "")):
        message = f"{shown(homes)} has braces other than {{name}}"
        raise source.fault(("homes",), message, "Write a folder, or a template with {name} in it.")
    for key in ("homes", "profiles"):
        _check_tilde(source, (key,), data.get(key, ""))
    _check_tilde(source, ("server", "tokens"), data.get("server", {}).get("tokens", ""))
    for name in data.get("tags", {}):
        if name in schema("tags")["properties"]:
            message = f"the tag {name} belongs to the file format and cannot be declared again"
            raise source.fault(("tags", name), message, "Remove it, or choose another name.")
    for name in RESERVED:
        if name in data.get("agents", {}):
            message = f"{name} is a writer without a profile, and cannot be an agent with one"
            raise source.fault(("agents", name), message, "Remove it, or choose another name.")


def _check_tilde(source: YamlFile, key: KeyPath, path: str) -> None:
    if path.startswith("~") and not path.startswith("~/") and path != "~":
        message = f"{shown(path)} begins with the home folder of another user"
        raise source.fault(key, message, "Write '~/' for your own home folder, or the path itself.")


def _categories(source: YamlFile, declared: Mapping[str, Mapping[str, Any]]) -> dict[str, Category]:
    """The categories, after a look at every name: one name may mean one category only."""
    taken: dict[str, str] = {UNCATEGORIZED: UNCATEGORIZED}
    if UNCATEGORIZED in declared:
        message = f"the category {UNCATEGORIZED} is always there and cannot be declared"
        raise source.fault(("taxonomy", "categories", UNCATEGORIZED), message, "Remove it.")
    taken |= {slug: slug for slug in declared}
    return {slug: _category(source, slug, settings, taken) for slug, settings in declared.items()}


def _category(source: YamlFile, slug: str, settings: Mapping[str, Any], taken: dict[str, str]) -> Category:
    key = ("taxonomy", "categories", slug)
    given = [slugify(written) for written in settings.get("aliases", [])]
    for index, (written, alias) in enumerate(zip(settings.get("aliases", []), given, strict=True)):
        place = (*key, "aliases", index)
        if not alias:
            message = f"the alias {shown(written)} has no letter or number"
            raise source.fault(place, message, "Write a title or a slug.")
        if alias in taken:
            message = f"the alias {shown(written)} already stands for the category {taken[alias]}"
            raise source.fault(place, message, "One name means one category: remove one of the two.")
        taken[alias] = slug
    made = slug.replace("-", " ").title()
    # A title that would be that of another category stays a slug.
    title = settings.get("title") or (made if slugify(made) == slug else slug)
    if slugify(title) not in {slug, *given}:
        message = f"a section titled {shown(title)} would have the category {slugify(title) or 'nothing'}, not {slug}"
        hint = f"Change the title, or give {slugify(title)!r} as an alias." if slugify(title) else "Change the title."
        raise source.fault((*key, "title"), message, hint)
    return Category(
        slug=slug,
        title=title,
        aliases=tuple(given),
        domain=settings.get("domain"),
        require_tags=tuple(settings.get("require_tags", ())),
        stale_after=days(settings["stale_after"]) if "stale_after" in settings else None,
        schema=settings.get("schema"),
    )
