"""The commands of the core: under which headings they stand, which module of ``catmem.ops`` has each, and its line.

It is read where no operation need be imported: a new operation is a row of its module, and a line here.
"""

from __future__ import annotations

GROUPS = {
    "Every day": {
        "init": ("files", "Make a root: a catmem.yaml, profiles, and homes for memory files."),
        "show": ("reading", "Show what a memory file says, or what a profile sees of it."),
        "list": ("reading", "List the entries that a profile sees."),
        "prompt": ("reading", "Print the text for a specialist's system prompt."),
        "add": ("entries", "Add an entry."),
        "replace": ("entries", "Give an entry other words or tags."),
        "remove": ("entries", "Remove an entry."),
        "move": ("entries", "Put an entry into another category."),
        "verify": ("entries", "Say that an entry still holds."),
        "search": ("reading", "Find what a profile sees, the best and newest first."),
        "status": ("reports", "Print what is next, each with the command for it."),
        "help": ("cli.servers", "Print the commands by group: those of every day, or with --all every one."),
    },
    "Keep facts true": {
        "proposals": ("review", "Approve or reject what agents propose."),
        "review": ("review", "Walk through the facts that are stale, expired or unverified."),
        "lint": ("upkeep", "Find what is wrong in memory files, profiles and configuration."),
        "rule": ("upkeep", "Print the page of a lint rule."),
        "schema": ("upkeep", "Print a JSON schema of what catmem reads and prints."),
        "undo": ("history", "Take back what was written last."),
        "seed": ("seeding", "Copy slices of one profile's memory to others, again and again."),
        "promote": ("seeding", "Bring what a specialist added or reworded to the profile that it is seeded from."),
        "branches": ("branches", "List the branches of a file that are not merged yet."),
        "merge": ("branches", "Bring branches, or a recovery copy, together with the file."),
        "fmt": ("files", "Put memory files into one layout."),
    },
    "Look": {
        "access": ("reports", "Print who reads and who may write which category, and why."),
        "stats": ("reports", "Print what each prompt saves beside flat files, and what it keeps out."),
        "log": ("history", "List the revisions of a file, or of one entry, or write all of them out."),
        "blame": ("history", "Say who wrote each entry, and who verified it."),
        "diff": ("history", "Show what changed between revisions of a file."),
        "watch": ("history", "Print what is new, as it happens."),
    },
    "Connect agents": {
        "mcp": ("cli.servers", "Serve the memory of a profile to an MCP client."),
        "serve": ("cli.servers", "Serve memory over HTTP, to agents and to a person's browser."),
        "token": ("control", "Make, list and remove the tokens with which callers use the server."),
        "export": ("files", "Write memory files for other programs."),
    },
    "Look after the store": {
        "fsck": ("upkeep", "Check and mend the history and the files; print where the history ends."),
        "doctor": ("upkeep", "Say what the folders give the store, and what they lack."),
        "restore": ("history", "Write a file as it was at a revision."),
        "purge": ("upkeep", "Erase an entry everywhere, from the history too."),
        "store": ("upkeep", "Say what the store keeps, or copy it to another with its history."),
    },
    "Many writers and control": {
        "audit": ("control", "List every attempt to write: who, what, and how it ended."),
        "write": ("control", "Write what an envelope holds, as an agent sent it."),
        "envelope": ("control", "Make an envelope, signed, for catmem write."),
        "key": ("control", "Make, list and remove the keys that agents sign with."),
        "role-hash": ("control", "Print the digest of a profile, which envelopes name."),
        "merge-driver": ("branches", "Merge a memory file by entry, for git."),
    },
}
"""The commands in the order of ``catmem help --all``."""
FIRST = {
    *("init", "show", "list", "prompt", "add", "replace", "remove", "search", "status"),
    *("proposals", "review", "lint", "undo", "seed", "log", "mcp", "serve"),
}
"""Those of the first screen, ``catmem --help``; a plugin says of its own which are."""
READS = {
    *("show", "list", "prompt", "search", "help", "rule", "schema", "access", "stats", "log", "blame", "diff", "watch"),
    *("branches", "audit", "doctor", "key list", "token list", "store info", "role-hash", "mcp", "serve"),
}
"""Operations that write nothing themselves: one whose output is lost can be repeated."""
OTHERS = ("http_memory", "memory_tool")
"""Modules whose operations are no commands."""
MODULES = {name: module for commands in GROUPS.values() for name, (module, _) in commands.items()}
COMMANDS = {name: said for commands in GROUPS.values() for name, (_, said) in commands.items()}
QUICK = {"hook": "catmem.plugins.harnesses.hook"}
"""Modules of plugins whose ``answered`` takes the words of a command that is called all day.

It stands here, and no plugin says it of itself: what plugins say is read after the time that such a command may take.
"""
