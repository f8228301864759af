"""Many small cases as one test: a test of its own costs more than what most of them do."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def together(
    names: str | tuple[str, ...], cases: Iterable[Any], ids: Iterable[str] | Callable[[Any], object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test for each case, as ``pytest.mark.parametrize`` does, in one test; each that fails is told by name.

    Only for tests that leave nothing behind: all cases have the same fixtures.
    """
    given = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    is_one = isinstance(names, str) and len(given) == 1
    rows = [_row(case, is_one=is_one) for case in cases]
    others = list(ids) if ids is not None and not callable(ids) else [None] * len(rows)
    called = [
        name or _name(values, ids if callable(ids) else None, place) if other is None else other
        for place, ((values, name), other) in enumerate(zip(rows, others, strict=True))
    ]
    assert rows, names

    def wrapped(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            wrong: list[Exception] = []
            for name, (values, _) in zip(called, rows, strict=True):
                try:
                    test(**dict(zip(given, values, strict=True)), **fixtures)
                except Exception as error:  # noqa: BLE001 - whatever a test raises
                    wrong.append(error)
                except pytest.fail.Exception as error:
                    wrong.append(AssertionError(str(error)).with_traceback(error.__traceback__))
                except pytest.skip.Exception:
                    wrong.append(AssertionError("one case of many cannot be skipped"))
                else:
                    continue
                wrong[-1].add_note(f"in the case {name!r}")
            if wrong:
                raise ExceptionGroup(f"{len(wrong)} of {len(rows)} cases", wrong)

        taken = inspect.signature(test)
        run.__signature__ = taken.replace(  # type: ignore[attr-defined]
            parameters=[each for name, each in taken.parameters.items() if name not in given]
        )
        return run

    return wrapped


def _row(case: Any, *, is_one: bool) -> tuple[tuple[Any, ...], str | None]:
    """The values of a case, and its name if it has one (``pytest.param``)."""
    if hasattr(case, "marks") and hasattr(case, "values"):
        assert not case.marks
        return tuple(case.values), case.id
    return ((case,) if is_one else tuple(case)), None


def _name(values: tuple[Any, ...], ids: Callable[[Any], object] | None, place: int) -> str:
    """What a case without a name is called."""
    return f"{place}: " + ", ".join(str(ids(value)) if ids else repr(value) for value in values)
