"""Support vector trees (Ukkonen 2010): a row evaluates the kernel with a few points, not with all.

    tree = dormie.tree.fitted(machine, rows, evaluations=10)

`greedy` grows the paper's tree and `fitted` a better one; `exact_balanced` is the paper's exact algorithm, for tiny
inputs. All return a `Tree`, plain data that the `tree` stage and `dormie.estimators.SupportVectorTree` evaluate.
"""

from dormie.methods.tree.exact import exact_balanced
from dormie.methods.tree.fitted_tree import fitted
from dormie.methods.tree.greedy_tree import greedy
from dormie.methods.tree.picture import plot
from dormie.methods.tree.structure import Tree
from dormie.methods.tree.text import export_text

__all__ = ["Tree", "exact_balanced", "export_text", "fitted", "greedy", "plot"]
