"""Values of records as bytes, without pickle: numbers, text, arrays, sparse matrices, and classes that are registered.

An encoded value is a JSON text, preceded by its length, and the bytes of the arrays. JSON holds None, truth values,
numbers and text as they are, and all else as an object with one key::

    {"tuple": [...]}, {"list": [...]}, {"dict": {...}}
    {"array": [dtype, stored dtype, shape, writeable]}   its bytes follow those of the array before
    {"scalar": array}                                    a NumPy scalar
    {"csr": [shape, data, indices, indptr]}
    {"object": [class, {field: value}]}                  a class of :func:`storable`

Integer arrays are stored in the smallest unsigned type that holds them: labels of up to 256 groups in one byte each.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

C = TypeVar("C", bound=type)

# Bytes of the length of the JSON text.
_LENGTH = 4
# Bytes of a digest.
DIGEST_SIZE = 16

_classes: dict[str, type] = {}


def storable(kind: C) -> C:
    """Register a dataclass or named tuple whose fields are storable: a decorator.

    Only registered classes are ever built from a file.
    """
    _classes[kind.__name__] = kind
    return kind


def encode(value: Any) -> bytes:
    """Encode a value; raises TypeError for a class that is not registered.

    >>> decode(encode({"labels": np.array([0, 1, 300]), "cost": 0.1, "trace": (0.5, 0.1)}))
    {'labels': array([  0,   1, 300]), 'cost': 0.1, 'trace': (0.5, 0.1)}
    """
    buffers: list[bytes] = []
    text = json.dumps(_to_json(value, buffers), separators=(",", ":")).encode()
    return b"".join([len(text).to_bytes(_LENGTH, "little"), text, *buffers])


def decode(content: bytes) -> Any:
    """Decode a value; raises ValueError, KeyError or TypeError if the content is none."""
    end = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    reader = _Buffers(content, end)
    value = _from_json(json.loads(content[_LENGTH:end]), reader)
    if reader.position != len(content):
        raise ValueError(f"{len(content) - reader.position} bytes are left over")
    return value


def digest(value: Any) -> str:
    """Digest of a storable value: equal for equal values, on every machine.

    >>> digest((1, 2.5)) == digest((1, 2.5)), digest(1) == digest(1.0)
    (True, False)
    """
    return blake2b(encode(value), digest_size=DIGEST_SIZE).hexdigest()


def _to_json(value: Any, buffers: list[bytes]) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray):
        return {"array": _write_array(value, buffers)}
    if isinstance(value, np.generic):
        return {"scalar": _write_array(np.asarray(value), buffers)}
    if isinstance(value, sparse.csr_array):
        parts = [_write_array(part, buffers) for part in (value.data, value.indices, value.indptr)]
        return {"csr": [list(value.shape), *parts]}
    if type(value) in (tuple, list):
        return {type(value).__name__: [_to_json(item, buffers) for item in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"dict": {key: _to_json(item, buffers) for key, item in value.items()}}
    kind = type(value)
    if _classes.get(kind.__name__) is not kind:
        raise TypeError(f"{kind.__name__} is not storable")
    names = [field.name for field in fields(value)] if is_dataclass(value) else value._fields
    return {"object": [kind.__name__, {name: _to_json(getattr(value, name), buffers) for name in names}]}


def _from_json(value: Any, reader: _Buffers) -> Any:
    if isinstance(value, list):
        raise ValueError("a list outside of an object")
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return reader.read_array(*content)
    if kind == "scalar":
        return reader.read_array(*content)[()]
    if kind == "csr":
        shape, *parts = content
        return sparse.csr_array(tuple(reader.read_array(*part) for part in parts), shape=tuple(shape))
    if kind == "tuple":
        return tuple(_from_json(item, reader) for item in content)
    if kind == "list":
        return [_from_json(item, reader) for item in content]
    if kind == "dict":
        return {key: _from_json(item, reader) for key, item in content.items()}
    if kind == "object":
        name, values = content
        return _classes[name](**{key: _from_json(item, reader) for key, item in values.items()})
    raise ValueError(f"{kind!r} is no kind of value")


def _write_array(array: NDArray[Any], buffers: list[bytes]) -> list[Any]:
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an array of {array.dtype} is not storable")
    stored = array.dtype
    if stored.kind in "iu" and array.size and array.min() >= 0:
        stored = np.min_scalar_type(array.max())
    # Not the other byte order: files move between machines.
    stored = stored.newbyteorder("<")
    buffers.append(np.ascontiguousarray(array, dtype=stored).tobytes())
    return [array.dtype.str, stored.str, list(array.shape), bool(array.flags.writeable)]


class _Buffers:
    """Reader of the arrays of an encoded value, one after another."""

    def __init__(self, content: bytes, position: int) -> None:
        self.content, self.position = content, position

    def read_array(self, dtype: str, stored: str, shape: list[int], writeable: bool) -> NDArray[Any]:
        """Read the next array: a copy, as kernels are compiled for the alignment and writeability of arrays."""
        kind = np.dtype(stored)
        if kind.kind not in "biuf" or np.dtype(dtype).kind not in "biuf":
            raise ValueError(f"an array of {kind}")
        count = int(np.prod(shape, dtype=object))
        flat = np.frombuffer(self.content, kind, count, self.position)
        self.position += flat.nbytes
        array = flat.reshape(shape).astype(np.dtype(dtype).newbyteorder("="))
        array.flags.writeable = writeable
        return array
