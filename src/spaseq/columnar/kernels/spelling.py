"""How numbers are spelled and read."""

from __future__ import annotations

from decimal import Decimal


def double_text(number: float) -> str:
    """The spelling pyoxigraph gives a double: the shortest digits that mean it, without exponent.

    >>> double_text(1e21), double_text(0.1), double_text(-0.0), double_text(float("inf"))
    ('1000000000000000000000', '0.1', '-0', 'INF')
    """
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "INF" if number > 0 else "-INF"
    spelled = format(Decimal(repr(number)), "f")
    return spelled.rstrip("0").rstrip(".") if "." in spelled else spelled


def decimal_parts(lexical: str) -> tuple[int, int]:
    """A decimal as (mantissa, scale), the value being ``mantissa / 10**scale``; scale -1 if 64 bits are too few.

    >>> decimal_parts("-2.50")
    (-25, 1)
    """
    whole, _, fraction = lexical.partition(".")
    fraction = fraction.rstrip("0")
    digits = whole.strip("+-").lstrip("0") + fraction
    mantissa = int(digits or 0) if len(digits) < 20 else 2**62
    if mantissa >= 2**62 or len(fraction) > 18:
        return 0, -1
    return -mantissa if whole.startswith("-") else mantissa, len(fraction)
