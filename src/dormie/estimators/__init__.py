"""Estimators with scikit-learn's conventions: kernel machines that scikit-learn lacks and dormie can compile.

`import dormie` does not import this package, as it needs scikit-learn.
"""

from __future__ import annotations

from dormie.estimators.kernel_fisher import KernelFisherDiscriminant
from dormie.estimators.support_vector_tree import SupportVectorTree
from dormie.estimators.virtual_svc import VirtualSVC

__all__ = ["KernelFisherDiscriminant", "SupportVectorTree", "VirtualSVC"]
