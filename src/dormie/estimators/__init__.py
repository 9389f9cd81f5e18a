"""Estimators with scikit-learn's conventions: any model compiled as it is trained, and kernel machines of dormie's own.

`CompiledClassifier`, `CompiledRegressor` and `CompiledOutlierDetector` train a model and compile it. The others are
kernel machines that scikit-learn lacks and dormie can compile.

`import dormie` does not import this package, as it needs scikit-learn; `dormie.estimators` imports it when it is first
asked for.
"""

from __future__ import annotations

from dormie.errors import raise_if_sklearn_is_missing

try:
    from dormie.estimators.compiled import CompiledClassifier, CompiledOutlierDetector, CompiledRegressor  # optional
    from dormie.estimators.kernel_fisher import KernelFisherDiscriminant  # optional
    from dormie.estimators.support_vector_tree import SupportVectorTree  # optional
    from dormie.estimators.virtual_svc import VirtualSVC  # optional
except ModuleNotFoundError as error:
    raise_if_sklearn_is_missing(error, "dormie.estimators")
    raise

__all__ = [
    "CompiledClassifier",
    "CompiledOutlierDetector",
    "CompiledRegressor",
    "KernelFisherDiscriminant",
    "SupportVectorTree",
    "VirtualSVC",
]
