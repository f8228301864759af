"""``catmem rule``: what a lint rule finds, why, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from catmem.cli.options import format_option
from catmem.cli.output import columns, emit, emit_json

if TYPE_CHECKING:
    from catmem.policy.lint.rule import Rule


@click.command(epilog="Examples: catmem rule CM190   catmem rule --all")
@click.argument("code", required=False)
@click.option("--all", "every", is_flag=True, help="One line for each rule.")
@format_option
def command(code: str | None, *, every: bool, as_json: bool) -> None:
    """Print the page of a lint rule. CODE is its code or its name."""
    from catmem.policy.lint.rule import all_rules
    from catmem.policy.lint.settings import unknown_rule

    rules = all_rules()
    if every == (code is not None):
        raise click.UsageError("Give the code of a rule, or --all.")
    if code is None:
        if as_json:
            emit_json({"rules": [_data(rule) for rule in rules.values()]})
        else:
            emit(columns([(rule.code, rule.name, rule.severity, rule.summary) for rule in rules.values()]))
        return
    by_name = {rule.name: rule for rule in rules.values()}
    found = rules.get(code.upper()) or by_name.get(code)
    if found is None:
        raise unknown_rule(code)
    if as_json:
        emit_json(_data(found))
    else:
        emit(f"{_heading(found)}\n\n{found.page}\n")


def _heading(rule: Rule) -> str:
    fix = f", {rule.fixes} fix" if rule.fixes else ""
    return f"# {rule.code} {rule.name}\n\nSeverity: {rule.severity}{fix}."


def _data(rule: Rule) -> dict[str, Any]:
    options = {name: list(value) if isinstance(value, tuple) else value for name, value in rule.options.items()}
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "scope": rule.scope,
        "fixes": rule.fixes,
        "suppressible": rule.suppressible,
        "summary": rule.summary,
        "options": options,
        "page": rule.page,
    }
