"""A question with yes or no."""

from __future__ import annotations

from functools import partial

import click

DIALOGUE = partial(click.confirm, err=True)
