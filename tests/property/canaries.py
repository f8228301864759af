"""A root of which a profile sees a part: in every hidden place of its text stands a canary, which no answer may show."""

CANARY = "CANARY-4f1c"
CONFIG = {
    "open": "taxonomy: {categories: {talk: {title: Talk}, vault: {title: Vault, aliases: [hush]}, canary-4f1c: {}}}\n",
    "closed": "taxonomy: {closed: true, categories: {talk: {}, rules: {}, drop: {}, vault: {aliases: [hush]}, canary-4f1c: {}}}\n",
}
PROFILES = {
    "neo": "user_memory_categories: [talk, rules]\nmemory_categories: [talk]\nwritable_categories: [talk, drop]\nlimits: {user: 900}\n",
    "other": "user_memory_categories: ['*']\nwritable_categories: ['*']\n",
}
TEXT = """\
# Title {canary}

{canary} without a category

## Talk
[verified_date: 2026-01-01] short answers
§
no calls, please

## {vault}
[source: {canary}] {canary} in the vault, short answers
§
§
```
{canary} unclosed

## Rules
be kind

## Drop
{canary} dropped
"""
HIDDEN = {"vault", "drop", "__uncategorized__"}


def text_with(canary: str, vault: str = "Vault") -> str:
    return TEXT.format(canary=canary, vault=vault)
