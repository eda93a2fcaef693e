"""Kinds of values for the options of memory: shares, allocators, sizes."""

from __future__ import annotations

import math
import re
from typing import Any

from jax._base.option import Kind, Meant

_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)(b?)", re.IGNORECASE)


def amount(text: str) -> int | None:
    """The bytes of an amount with its unit: ``8GiB`` (or ``8G``) is 8 * 2**30, ``8GB`` is 8 * 10**9. None for others."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or not (found[2] or found[4]):
        return None
    base = 1000 if found[4] and not found[3] else 1024
    return int(float(found[1]) * base ** _UNITS[found[2].lower()])


def _parse_share(value: Any) -> float | str:
    if isinstance(value, bool):
        raise ValueError
    if isinstance(value, str):
        size = amount(value)
        if size is not None:
            if size < 1 << 20:
                raise Meant("That is less than a mebibyte; write the unit that is meant, as in '8GiB'.")
            return value.strip()
        if value.strip().endswith("%"):
            share = float(value.strip()[:-1]) / 100
            raise Meant(f"{share:g} was probably meant." if 0 < share <= 1 else "More than all of it cannot be had.")
    share = float(value)
    if 0 < share <= 1:
        return share
    if share == 0:
        raise Meant("To take no memory at first use, set XLA_PYTHON_CLIENT_PREALLOCATE=false.")
    if 1 < share <= 100:
        raise Meant(f"{share / 100:g} was probably meant ({share:g}% of the memory).")
    if share > 100 and math.isfinite(share):
        raise Meant(f"An amount needs its unit: '{share:g}MiB' was probably meant." if share < 1 << 20 else
                    f"An amount needs its unit: '{share / 2**30:.3g}GiB' was probably meant.")
    raise ValueError


SHARE = Kind("a fraction of the GPU's memory, above 0 and at most 1, or an amount with its unit such as '8GiB'",
             _parse_share, str)

_ALLOCATORS = ("default", "bfc", "platform", "cuda_async", "vmm")


def _parse_allocator(value: Any) -> str:
    if isinstance(value, str) and value.strip().lower() in _ALLOCATORS:
        return value.strip().lower()
    raise ValueError


ALLOCATOR = Kind("one of " + ", ".join(map(repr, _ALLOCATORS)), _parse_allocator, str, _ALLOCATORS)


def _parse_megabytes(value: Any) -> int:
    if isinstance(value, bool):
        raise ValueError
    if isinstance(value, str) and (size := amount(value)) is not None:
        raise Meant(f"{max(size >> 20, 1)} was probably meant: the number counts megabytes.")
    if isinstance(value, float) or int(value) < 0:
        raise ValueError
    return int(value)


MEGABYTES = Kind("a whole number of megabytes, 0 or more", _parse_megabytes, int)


def amount_of(value: str) -> int:
    """The bytes of a value of ``AMOUNT``."""
    return 0 if value == "0" else amount(value) or 0


def _parse_amount(value: Any) -> str:
    text = str(value).strip()
    if text == "0" or amount(text) is not None:
        return text
    if not isinstance(value, bool) and text.isdigit():
        raise Meant(f"An amount needs its unit: '{text}MiB' was probably meant.")
    raise ValueError


AMOUNT = Kind("an amount with its unit such as '512MiB', or 0", _parse_amount, str)
