"""Kits: what a kind of specialist usually knows, by the names that people give it (``kits.yaml``)."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.config.yamlfile import parse_yaml
from catmem.resources import kits_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_PROFILE = """\
# What a specialist of this kind usually knows. The lists are yours to change. All keys: docs/profiles.md.
title: "{title}"
extends: specialist             # and so is seeded from the orchestrator

user_memory_categories: [{seen}]
memory_categories: [{seen}]
writable_categories: [{own}]
"""
_SHARING = 2
"""A category of another kind of specialist is declared if so many of those that are made read it."""


class NewCategory(NamedTuple):
    """A category of a new root: ``about`` says what belongs there, ``readers`` and ``writers`` are new specialists."""

    slug: str
    about: str
    readers: tuple[str, ...]
    writers: tuple[str, ...]

    @property
    def title(self) -> str:
        """The title that catmem.yaml gives it."""
        return self.slug.replace("-", " ").title()


def profiles_of(names: Sequence[str], standing: Collection[str]) -> tuple[dict[str, str], list[NewCategory], list[str]]:
    """The profiles of new specialists of these names, the categories that they name, and what a person should know."""
    if not names:
        return {}, [], []
    data, roles = kits(), {name: _role_of(name) for name in names}
    found = {name: data["kits"].get(role, {"own": [_words_of(name)], "reads": []}) for name, role in roles.items()}
    own = [slug for kit in found.values() for slug in kit["own"]]
    read = Counter(slug for kit in found.values() for slug in kit["reads"])
    also = [slug for slug, count in read.items() if count >= _SHARING or slug in standing]
    declared = [*dict.fromkeys((*data["shared"], *own, *also))]
    seen = {name: {*data["shared"], *kit["own"], *kit["reads"]} for name, kit in found.items()}
    categories = [
        NewCategory(
            slug,
            data["categories"].get(slug, {"about": f"What {slug} works on."})["about"],
            tuple(name for name in names if slug in seen[name]),
            tuple(name for name in names if slug in found[name]["own"]),
        )
        for slug in declared
    ]
    profiles = {
        name: _PROFILE.format(
            title=re.sub("[-_]", " ", name).capitalize(),
            seen=", ".join(slug for slug in declared if slug in seen[name]),
            own=", ".join(kit["own"]),
        )
        for name, kit in found.items()
    }
    notes = [
        f"{name} got what a specialist of the kind {role} usually sees: change it in profiles/{name}.yaml"
        for name, role in roles.items()
        if role not in {None, _words_of(name)}
    ]
    notes += [
        f"catmem does not know what {name} works on, and made the category {own}: name others in profiles/{name}.yaml"
        for name, kit in found.items()
        for own in set(kit["own"]) - data["categories"].keys()
    ]
    return profiles, categories, notes


@cache
def kits() -> Mapping[str, Any]:
    """``shared`` slugs, ``kits`` with ``names``, ``own`` and ``reads``, ``categories`` with ``about`` and ``words``."""
    data: Mapping[str, Any] = parse_yaml(kits_text()).data
    return data


def _role_of(name: str) -> str | None:
    """The kind with the longest name that stands in ``name`` as whole words: "my-tax-advisor" is of finance."""
    said = f"-{_words_of(name)}-"
    found = [(len(each), role) for role, kit in kits()["kits"].items() for each in kit["names"] if f"-{each}-" in said]
    return max(found)[1] if found else None


def _words_of(name: str) -> str:
    """A name as kits spell theirs. Of a name of no kit the one category is called so."""
    return re.sub("[^a-z0-9]+", "-", name).strip("-")
