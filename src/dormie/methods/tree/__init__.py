"""Support vector trees (Ukkonen 2010): a row evaluates the kernel with a few points, not with all.

    tree = dormie.tree.fitted(machine, rows, evaluations=10)

`greedy` grows the paper's tree and `fitted` a better one; `exact_balanced` is the paper's exact algorithm, for tiny
inputs. All return a `Tree`, plain data that the `tree` stage and `dormie.estimators.SupportVectorTree` evaluate.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dormie.methods.tree.structure import Tree

if TYPE_CHECKING:
    from dormie.methods.tree.exact import exact_balanced
    from dormie.methods.tree.fitted_tree import fitted
    from dormie.methods.tree.greedy_tree import greedy
    from dormie.methods.tree.picture import plot
    from dormie.methods.tree.text import export_text

__all__ = ["Tree", "exact_balanced", "export_text", "fitted", "greedy", "plot"]

_MODULES = {
    "exact_balanced": "exact",
    "export_text": "text",
    "fitted": "fitted_tree",
    "greedy": "greedy_tree",
    "plot": "picture",
    "TreeWalk": "stage",  # pickles of before the move look for it here
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import what grows and shows trees when it is first used: `import dormie` would take a tenth longer with it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found
