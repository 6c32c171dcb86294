"""How a person reads layers and heads: counted from 1, ``L3·H7``. Code and JSON count from 0."""


def head_name(layer: int, head: int) -> str:
    """Return the name of a head given by its indices from 0: ``head_name(2, 6)`` is ``L3·H7``."""
    return f"L{layer + 1}·H{head + 1}"


def layer_name(layer: int) -> str:
    """Return the name of a layer given by its index from 0: ``L3`` for 2."""
    return f"L{layer + 1}"
