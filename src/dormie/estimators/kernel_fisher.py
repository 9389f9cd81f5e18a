"""Kernel Fisher discriminants (Mika, Rätsch, Weston, Schölkopf and Müller 1999; Mika, Rätsch and Müller 2001).

The discriminant is the direction w = sum_i alpha_i phi(x_i) along which the class means are furthest apart relative to
the scatter within the classes. It maximises (alpha.(M_1 - M_0))^2 / alpha.N alpha, where M_j is the mean of the columns
of the kernel matrix that belong to class j, and N = sum_j K_j (I - 1/l_j) K_j^T is their scatter about that mean. With
a regularisation mu the solution is, up to its length,

    (N + mu I) alpha = M_1 - M_0.

The quadratic programme of 2001 with the penalty |alpha|^2 is the same discriminant in another form. It minimises
|xi|^2 + mu |alpha|^2 such that K alpha + b = y + xi, where y is -1 or 1 and xi sums to zero over each class. The sums
say that the class means are projected on -1 and 1, so |xi|^2 = alpha.N alpha, and the solution has the alpha above,
scaled until the means are 2 apart, and the threshold half way between them. The other penalties that the paper names,
alpha.K alpha and the sum of |alpha_i|, give other discriminants, which are not offered here.

Every training row is a term of the result, so predictions are slow, and `dormie.compile` helps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, solve
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from dormie.machine import Floats
from dormie.machine.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from dormie.machine.typing import Positions


class KernelFisherDiscriminant(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify two classes by a kernel Fisher discriminant.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "sigmoid"} or Kernel, default="rbf"
        The kernel. A kernel of `dormie.kernels`, such as ``Normalized(Polynomial(gamma=1.0, coef0=1.0, degree=2))``,
        has parameters of its own, and those below do not apply.
    gamma : {"scale", "auto"} or float, default="scale"
        The coefficient of "rbf", "poly" and "sigmoid": a number, "scale" for 1 / (n_features * variance), or "auto" for
        1 / n_features.
    degree : int, default=3
        The degree of "poly".
    coef0 : float, default=0.0
        The constant term of "poly" and "sigmoid".
    regularization : float, default=1e-3
        The number mu, above 0, that is added to the diagonal of the scatter matrix.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels, sorted. The decision function is positive for the second.
    kernel_ : Kernel
        The kernel with all parameters as numbers.
    X_fit_ : ndarray of shape (n_rows, n_features)
        The training rows.
    dual_coef_ : ndarray of shape (n_rows,)
        The coefficients alpha of the training rows.
    intercept_ : float
        The bias. It puts the threshold half way between the projected class means.
    n_features_in_ : int
        The number of features.

    Notes
    -----
    The coefficients solve ``(N + mu I) alpha = M_1 - M_0``, where ``M_j`` is the mean of the columns of the kernel
    matrix that belong to class j, and N is the scatter of the columns about the mean of their class (Mika et al. 1999).
    Up to its length the result is also that of the quadratic programme of Mika et al. (2001) with the penalty
    ``mu |alpha|^2``. A smaller mu fits the training rows more closely, and needs more landmarks when it is compiled.

    Examples
    --------
    >>> import dormie
    >>> from dormie.estimators import KernelFisherDiscriminant
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), KernelFisherDiscriminant()).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.9
    True
    >>> dormie.read(model).n_points
    200
    """

    def __init__(
        self,
        kernel: str | Kernel = "rbf",
        *,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        regularization: float = 1e-3,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.regularization = regularization

    def fit(self, X: Any, y: Any) -> KernelFisherDiscriminant:
        """Compute the discriminant of two classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The training rows.
        y : array-like of shape (n_rows,)
            Their labels, of two classes.

        Returns
        -------
        KernelFisherDiscriminant
            The fitted estimator itself.

        Raises
        ------
        ValueError
            If there are not two classes, a parameter is invalid, or the regularisation is too small for the numbers.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, of_class = _two_classes(y)
        self.kernel_ = self._kernel(X)
        self.X_fit_ = X
        gram = self.kernel_.matrix(X, X)
        means = [gram[:, of_class == j].mean(axis=1) for j in (0, 1)]
        self.dual_coef_ = self._direction(gram, of_class, means)
        self.intercept_ = float(-self.dual_coef_ @ (means[0] + means[1]) / 2)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the projection of every row on the discriminant, plus the intercept.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Positive for rows of the second class, ``classes_[1]``.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.kernel_.matrix(X, self.X_fit_) @ self.dual_coef_ + self.intercept_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of every row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The labels.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def _direction(self, gram: Floats, of_class: Positions, means: list[Floats]) -> Floats:
        mu = self.regularization
        if not (mu > 0 and math.isfinite(mu)):
            raise ValueError(f"regularization must be a number above 0, got {mu!r}")
        scattered = gram - np.where(of_class == 1, means[1][:, None], means[0][:, None])
        within = scattered @ scattered.T
        within[np.diag_indices_from(within)] += mu
        try:
            return np.asarray(solve(within, means[1] - means[0], assume_a="pos"))
        except LinAlgError as error:
            raise ValueError(
                f"regularization={mu} is lost beside kernel values of up to {np.abs(gram).max():.3g}: "
                "scale the features, or choose a larger one"
            ) from error

    def _kernel(self, X: Floats) -> Kernel:
        if isinstance(self.kernel, Kernel):
            return self.kernel
        match self.kernel:
            case "linear":
                return Linear()
            case "rbf":
                return RBF(self._gamma(X))
            case "poly":
                return Polynomial(self._gamma(X), self.coef0, self.degree)
            case "sigmoid":
                return Sigmoid(self._gamma(X), self.coef0)
        raise ValueError(
            f"kernel must be 'rbf', 'poly', 'linear', 'sigmoid' or a kernel of dormie.kernels, got {self.kernel!r}"
        )

    def _gamma(self, X: Floats) -> float:
        d = len(X[0])
        if self.gamma == "auto":
            return 1.0 / d
        if self.gamma == "scale":
            variance = float(X.var())
            return 1.0 / (d * variance) if variance else 1.0
        if isinstance(self.gamma, str):
            raise ValueError(f"gamma must be 'scale', 'auto' or a number, got {self.gamma!r}")
        return float(self.gamma)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _two_classes(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Positions]:
    """The two class labels, sorted, and the class (0 or 1) of every row."""
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            "For more classes use sklearn.multiclass.OneVsRestClassifier(KernelFisherDiscriminant())"
        )
    classes, of_class = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y must have two classes, it has only one class: {classes[0]}")
    return classes, of_class
