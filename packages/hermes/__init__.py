"""Categorized memory, each profile its own categories; the files stay plain Markdown."""

import logging
import sys

try:
    from catmem.plugins.hermes import provider as _provider
except ImportError as error:
    logging.getLogger("catmem.plugins.hermes").critical(
        "The memory provider catmem is switched on, and the Python of Hermes Agent cannot import it (%s). This "
        "conversation has no memory of catmem. 'catmem hermes status' has the command that installs it for %s",
        error,
        sys.executable,
    )
    raise


def register(ctx: object) -> None:
    """Called by Hermes Agent, which takes what goes to ctx.register_memory_provider()."""
    _provider.register(ctx)
