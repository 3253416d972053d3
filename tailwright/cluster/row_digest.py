"""One number for rows in order, which does not depend on how they are cut into files.

Every row is hashed with its number, and the hashes are added: so each worker adds up its own rows, in any
order, and the sum still tells two rows that changed places. It is for comparing what two computations found;
it does not protect from somebody who wants two tables to have the same sum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

_BITS = 256
_FIELD, _ITEM = "\x1e", "\x1f"  # between fields, and between the items of a list
_NOTHING = "\x00"


def digest_of(table: pa.Table, first_row: int = 0) -> int:
    """The sum of the hashes of the rows, of which the first has this number.

    >>> table = pa.table({"text": ["a", "b", "c"], "labels": [["x"], [], ["y", "x"]]})
    >>> parts = [digest_of(table.slice(2), 2), digest_of(table.slice(0, 2))]
    >>> summed(parts) == summed([digest_of(table)])
    True
    """
    numbers = pa.array(range(first_row, first_row + len(table)), pa.int64())
    fields = [numbers, *(column.combine_chunks() for column in table.columns)]
    rows = pc.binary_join_element_wise(
        *map(_strings, fields), _large(_FIELD), null_handling="replace", null_replacement=_NOTHING
    )
    hashes = (hashlib.sha256(row).digest() for row in rows.cast(pa.large_binary()).to_pylist())
    return sum(int.from_bytes(found, "big") for found in hashes) % (1 << _BITS)


def summed(digests: Iterable[int]) -> str:
    """The digest of all rows, as hexadecimal digits."""
    return f"{sum(digests) % (1 << _BITS):064x}"


def _strings(column: pa.Array) -> pa.LargeStringArray:
    """A string for each row; scores are written by their bits, so that no rounding is hidden."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lists = pa.LargeListArray.from_arrays(pc.cast(column.offsets, pa.int64()), _strings(column.values))
        return pc.binary_join(lists, _large(_ITEM))
    if pa.types.is_float32(kind):
        column = column.view(pa.int32())
    return column.cast(pa.large_string())


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())
