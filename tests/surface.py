"""The public surface of klump: its functions, its classes' methods, and the functions of its public rooms."""

import importlib
import inspect

import klump

# Modules that users import from, besides klump itself.
ROOMS = (
    "klump.aggregation",
    "klump.chain",
    "klump.comparison",
    "klump.distributed",
    "klump.files",
    "klump.guarantees",
    "klump.resampling",
    "klump.selection",
    "klump.sources",
    "klump.sources.datasets",
    "klump.sources.random_chains",
)


def _public_names(module):
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return {f"{module.__name__}.{name}": getattr(module, name) for name in names}


def public_callables():
    """Public functions, and public methods of public classes, by qualified name."""
    values = {}
    for module in (klump, *map(importlib.import_module, ROOMS)):
        values |= _public_names(module)
    found = {}
    for value in values.values():
        if inspect.isfunction(value):
            found[f"{value.__module__}.{value.__qualname__}"] = value
        elif inspect.isclass(value):
            for name, member in inspect.getmembers(value, inspect.isroutine):
                if not name.startswith("_") and (inspect.isfunction(member) or inspect.ismethod(member)):
                    found[f"{value.__module__}.{value.__qualname__}.{name}"] = member
    return found


def callables_with(parameter):
    """Public callables that take a parameter."""
    return {
        name: function
        for name, function in public_callables().items()
        if parameter in inspect.signature(function).parameters
    }
