"""JSON without a data model: numbers keep their text, and the order of members counts."""

import json

from .process import Failed


def loads(text: str | bytes):
    """Numbers become ("number", text), so `1`, `1.0` and "1" are three different things."""
    try:
        return json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_number)
    except ValueError as error:
        raise Failed(f"not JSON ({error}): {text[:200]!r}") from None


def _number(text: str) -> tuple[str, str]:
    return ("number", text)


def difference(expected, got, path: str = "") -> str | None:
    """The first place where two values differ, or None."""
    if isinstance(expected, dict) and isinstance(got, dict):
        if list(expected) != list(got):
            return f"{path or '.'}: members {list(expected)} became {list(got)}"
        pairs = [(f"{path}.{key}", expected[key], got[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return f"{path or '.'}: {len(expected)} items became {len(got)}"
        pairs = [(f"{path}[{n}]", a, b) for n, (a, b) in enumerate(zip(expected, got, strict=True))]
    else:
        return (
            None if type(expected) is type(got) and expected == got else f"{path or '.'}: {expected!r} became {got!r}"
        )
    return next((found for at, a, b in pairs if (found := difference(a, b, at))), None)


def plain_loads(text: str):
    """Where the text of numbers does not matter."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failed(f"not JSON ({error}): {text[:200]!r}") from None
