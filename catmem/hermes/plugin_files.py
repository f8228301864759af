"""The files of the plugin that ``catmem hermes install`` puts into a home of Hermes Agent, as texts.

They stay the same over versions of catmem: what they do is ``catmem.hermes.plugin``, in the installed package.
"""

from __future__ import annotations

FOLDER = "plugins/catmem"
MARK = "Written by 'catmem hermes install'; 'catmem hermes uninstall' removes it."

# Hermes Agent looks for the word register_memory_provider in the first 8,192 characters.
_INIT = f'''"""catmem as the memory provider of Hermes Agent.

{MARK}
"""

import logging
import sys

try:
    from catmem.hermes import plugin as _plugin
except ImportError as error:
    logging.getLogger("catmem.hermes").error(
        "The memory provider catmem is switched on, and the Python of Hermes Agent cannot import it (%s). This "
        "conversation has no memory of catmem. Install it with: %s -m pip install catmem",
        error,
        sys.executable,
    )
    raise


def register(ctx):
    """Called by Hermes Agent, which takes what goes to ctx.register_memory_provider()."""
    _plugin.register(ctx)
'''

_MANIFEST = f"""\
# {MARK}
name: catmem
version: 1.0.0
description: Categorized memory, each profile its own categories (catmem)
kind: exclusive
"""

FILES = {"__init__.py": _INIT, "plugin.yaml": _MANIFEST}
"""The texts by name, in the folder ``FOLDER`` of a home."""
