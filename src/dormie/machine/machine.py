"""The normal form of every kernel machine: G(x) = sum_i beta_i K(map(x), s_i) + b, and a rule.

`dormie.convert` makes a `Machine` of every model, `dormie.simplify` makes it smaller, and the stages evaluate it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dormie.machine import sparse_points
from dormie.machine.csr import is_sparse
from dormie.machine.input_map import Affine
from dormie.machine.kernels import Kernel
from dormie.machine.margin import Margin
from dormie.machine.preparation import Preparation
from dormie.machine.rules import ClassRule, MostProbable, Probability, Rule
from dormie.machine.typing import Booleans, Floats, frozen_floats


@dataclass(frozen=True, eq=False)
class Origin:
    """The machine as it was before exact rewrites, and a bound on how far they moved its outputs."""

    machine: Machine
    deviation: Margin


@dataclass(frozen=True, eq=False)
class Machine:
    """
    A trained kernel machine in normal form: L points, c outputs, and a rule.

    A machine is frozen: its arrays are private, read-only copies.

    Parameters
    ----------
    kernel : Kernel
        One of `dormie.kernels`.
    points : array-like or sparse matrix of shape (L, d)
        The support vectors s_i, in mapped coordinates. Sparse points are kept so, as a CSR array. With a `Custom`
        kernel, any sequence of objects.
    weights : array-like of shape (L, c) or (L,)
        The coefficients beta_i, one column for each output.
    bias : array-like of shape (c,) or float
        The constants b; a number serves all outputs.
    rule : Rule
        One of `dormie.rules`: how outputs become an answer.
    input_map : Affine or None, default=None
        Applied to every row first.
    feature_names : sequence of str or None, default=None
        The columns that a data frame must have, in order.
    blas_products : bool, default=False
        Whether the model computes inner products with BLAS, as scikit-learn's LIBSVM does for dense rows, and not one
        product after the other. The two differ in rounding, which decides ties.
    preparation : Preparation or None, default=None
        Applied to every row before the input map: steps of `dormie.steps`, such as a projection.

    Raises
    ------
    TypeError
        If a part is of the wrong type.
    ValueError
        If shapes do not fit together, or a number is not finite.

    Notes
    -----
    The outputs of a row x are G(x) = sum_i beta_i K(map(x), s_i) + b; with a preparation, map(prepared(x)) in place of
    map(x).

    The attribute `probability` holds the rule of the probabilities of classes, where the model has any; None otherwise.

    The attribute `origin` holds the machine that this one was rewritten from, where the rewriting changed how the sum
    rounds; None otherwise.

    Examples
    --------
    >>> import dormie
    >>> from dormie.kernels import RBF
    >>> from dormie.rules import Sign
    >>> machine = dormie.Machine(RBF(0.5), [[0.0, 0.0], [1.0, 1.0]], [1.0, -1.0], 0.0, Sign(["far", "near"]))
    >>> machine
    Machine(RBF(gamma=0.5), 2 points of 2 features, 1 output, Sign)
    >>> dormie.compile(machine).predict([[0.1, 0.0], [2.0, 1.0]])
    array(['near', 'far'], dtype='<U4')
    """

    kernel: Kernel
    points: Any
    weights: Floats
    bias: Floats
    rule: Rule
    input_map: Affine | None = None
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)
    blas_products: bool = field(default=False, repr=False)
    preparation: Preparation | None = None
    # Not arguments, so that `dataclasses.replace` with other points never keeps an origin that is not theirs.
    origin: Origin | None = field(default=None, init=False, repr=False)
    probability: Probability | None = field(default=None, init=False, repr=False)

    if TYPE_CHECKING:  # lists and numbers become arrays

        def __init__(
            self,
            kernel: Kernel,
            points: Any,
            weights: npt.ArrayLike,
            bias: npt.ArrayLike,
            rule: Rule,
            input_map: Affine | None = None,
            feature_names: Sequence[str] | None = None,
            blas_products: bool = False,
            preparation: Preparation | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._check_types()
        weights = frozen_floats(self.weights, "Machine: weights")
        weights = weights[:, None] if weights.ndim == 1 else weights
        if weights.ndim != 2:
            raise ValueError(f"Machine: weights must be L x c, got shape {weights.shape}")
        bias = frozen_floats(np.broadcast_to(self.bias, weights.shape[1:]), "Machine: bias")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", bias)
        if self.kernel.is_python:
            object.__setattr__(self, "points", _private(self.points))
        else:
            freeze = sparse_points.frozen_csr if is_sparse(self.points) else frozen_floats
            object.__setattr__(self, "points", freeze(self.points, "Machine: points"))
            self._check_features()
        self._check_preparation()
        count = self.points.shape[0] if self.has_sparse_points else len(self.points)
        if count != len(weights):
            raise ValueError(f"Machine: {count} points but {len(weights)} rows of weights")
        self.rule.check_outputs(self.n_outputs)
        if isinstance(self.rule, MostProbable):  # its map gives the probabilities too
            object.__setattr__(self, "probability", Probability(self.rule.map))

    def _check_types(self) -> None:
        """Raise TypeError for a part of the wrong type, which would otherwise fail later with an unclear message."""
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"Machine: kernel must be one of dormie.kernels, such as RBF(0.5), got {self.kernel!r}")
        if not isinstance(self.rule, Rule):
            raise TypeError(f"Machine: rule must be one of dormie.rules, such as Sign([0, 1]), got {self.rule!r}")
        if not isinstance(self.input_map, Affine | None):
            raise TypeError(f"Machine: input_map must be dormie.Affine(center, scale) or None, got {self.input_map!r}")
        if not isinstance(self.preparation, Preparation | None):
            raise TypeError(f"Machine: preparation must be a dormie.steps.Preparation, got {self.preparation!r}")
        if self.feature_names is not None:
            names = self.feature_names
            several = isinstance(names, Iterable) and not isinstance(names, str)
            if not several or not all(isinstance(name, str) for name in names):
                raise TypeError(f"Machine: feature_names must be column names, such as ('a', 'b'), got {names!r}")
            object.__setattr__(self, "feature_names", tuple(names))

    def _check_features(self) -> None:
        if self.points.ndim != 2 or self.points.shape[1] < 1:
            raise ValueError(f"Machine: points must be L x d with d at least 1, got shape {self.points.shape}")
        if self.input_map is not None and len(self.input_map.center) != self.n_features:
            raise ValueError(
                f"Machine: the input map has {len(self.input_map.center)} features, the points {self.n_features}"
            )
        if self.has_sparse_points:
            self._check_sparse()
        else:
            self.kernel.require_domain(self.points, "Machine: points: ")
        if self.feature_names is not None and len(self.feature_names) != self.n_columns:
            raise ValueError(f"Machine: {len(self.feature_names)} feature names for {self.n_columns} features")

    def _check_preparation(self) -> None:
        if self.preparation is None:
            return
        if not self.of_vectors:
            raise ValueError("Machine: a preparation is for vectors, and the points are other objects")
        if self.preparation.result != self.n_features:
            raise ValueError(
                f"Machine: the preparation makes {self.preparation.result} columns, the points have {self.n_features}"
            )

    def _check_sparse(self) -> None:
        if self.input_map is not None and not self.input_map.keeps_zeros:
            raise ValueError(
                "Machine: the points are sparse, and the input map moves zeros: pass points.toarray() as points"
            )
        if self.preparation is not None:
            raise ValueError("Machine: the points are sparse, and rows are prepared: pass points.toarray() as points")
        if not self.kernel.of_inner_products:
            raise ValueError(f"Machine: {self.kernel} needs dense points: pass points.toarray()")
        if self.blas_products:
            raise ValueError(
                "Machine: BLAS computes inner products of dense points: pass points.toarray(), or leave blas_products "
                "out"
            )

    @property
    def n_points(self) -> int:
        """The number L of points."""
        return len(self.weights)

    @property
    def n_outputs(self) -> int:
        """The number c of outputs."""
        return int(self.weights.shape[1])

    @property
    def of_vectors(self) -> bool:
        """Whether points and rows are vectors; with a `Custom` kernel they may be objects of any type."""
        return self.has_sparse_points or (isinstance(self.points, np.ndarray) and self.points.ndim == 2)

    @property
    def has_sparse_points(self) -> bool:
        """Whether the points are a CSR array, which the full sum alone can serve."""
        return not self.kernel.is_python and is_sparse(self.points)

    @property
    def n_features(self) -> int:
        """The number of columns of a point; AttributeError where points are not vectors (`of_vectors`)."""
        columns: int = self.points.shape[1]
        return columns

    @property
    def n_columns(self) -> int:
        """The number of columns of a row, before it is prepared."""
        return self.n_features if self.preparation is None else self.preparation.columns

    @property
    def may_be_nan(self) -> Booleans | None:
        """Which columns of a row may be NaN, as they are imputed; None where no column may."""
        return None if self.preparation is None else self.preparation.may_be_nan

    @property
    def bare(self) -> Machine:
        """The same function of mapped rows: without preparation and input map."""
        if self.preparation is None and self.input_map is None:
            return self
        return replace(self, preparation=None, input_map=None, feature_names=None)

    def with_origin(self, origin: Origin | None) -> Machine:
        """
        Copy the machine, with a note of what it was rewritten from.

        Parameters
        ----------
        origin : Origin or None
            The machine before the rewriting, and a bound on how far the outputs moved.

        Returns
        -------
        Machine
            The same machine with this origin.
        """
        return self._copied(origin, self.probability)

    def with_probability(self, probability: Probability | None) -> Machine:
        """
        Copy the machine, with the rule of its probabilities.

        Parameters
        ----------
        probability : Probability or None
            How the outputs become probabilities of the classes.

        Returns
        -------
        Machine
            The same machine with these probabilities.

        Raises
        ------
        ValueError
            If the probabilities are those of another number of outputs or classes.
        """
        if probability is not None:
            probability.check_outputs(self.n_outputs)
            classes = len(self.rule.classes) if isinstance(self.rule, ClassRule) else 0
            if classes != probability.map.n_classes:
                raise ValueError(f"Machine: probabilities of {probability.map.n_classes} classes, it has {classes}")
        return self._copied(self.origin, probability)

    def _copied(self, origin: Origin | None, probability: Probability | None) -> Machine:
        machine = replace(self)
        object.__setattr__(machine, "origin", origin)
        object.__setattr__(machine, "probability", probability)
        return machine

    def changed(self, **changes: Any) -> Machine:
        """
        Copy the machine with another rule, input map or feature names, and change its origin alike.

        Probabilities are kept, but not beside another rule.

        Parameters
        ----------
        **changes : dict
            New values of `rule`, `input_map`, `preparation` or `feature_names`.

        Returns
        -------
        Machine
            The changed copy.

        Raises
        ------
        ValueError
            If the input map is to change and the origin has one of its own.
        """
        machine, origin = replace(self, **changes), self.origin
        probability = machine.probability if "rule" in changes else self.probability
        if origin is not None:
            if "input_map" in changes and origin.machine.input_map is not self.input_map:
                raise ValueError(
                    "Machine: its origin has an input map of its own, and would be given that of the machine"
                )
            origin = Origin(replace(origin.machine, **changes), origin.deviation)
        return (
            machine if origin is None and probability is machine.probability else machine._copied(origin, probability)
        )

    def behind(self, preparation: Preparation, feature_names: Sequence[str] | None = None) -> Machine:
        """
        Copy the machine so that rows go through a preparation first, and its origin alike.

        Parameters
        ----------
        preparation : Preparation
            What is done to rows before all that the machine does to them.
        feature_names : sequence of str or None, default=None
            The names of the columns before it.

        Returns
        -------
        Machine
            The machine for rows that are not prepared.
        """
        after = () if self.preparation is None else self.preparation.steps
        whole = Preparation(preparation.columns, (*preparation.steps, *after))
        names = None if feature_names is None else tuple(feature_names)
        machine, origin = replace(self, preparation=whole, feature_names=names), self.origin
        if origin is not None:
            source = replace(origin.machine, preparation=whole, feature_names=names)
            origin = Origin(source, origin.deviation)
        return machine._copied(origin, self.probability)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        # An unpickled machine goes through the constructor, which checks it and makes it read-only again.
        arguments = self.origin, *(getattr(self, f.name) for f in fields(self) if f.init)
        if self.probability is None:
            return _restored, arguments
        return _restored_with, (self.probability, *arguments)

    def __repr__(self) -> str:
        points, outputs = _counted(self.n_points, "point"), _counted(self.n_outputs, "output")
        points = f"{_counted(self.n_points, 'sparse point')}" if self.has_sparse_points else points
        features = f" of {_counted(self.n_features, 'feature')}" if self.of_vectors else ""
        mapped = f", {_in_words(self.input_map)} input" if self.input_map is not None else ""
        mapped = f", {self.preparation}{mapped}" if self.preparation is not None else mapped
        rule = type(self.rule).__name__
        return f"Machine({self.kernel}, {points}{features}, {outputs}, {rule}{mapped})"


def _private(points: Any) -> Any:
    """Points of a Python kernel that the caller cannot change: a read-only copy of an array, or a list of objects."""
    points = points.to_numpy() if hasattr(points, "to_numpy") else points
    if not isinstance(points, np.ndarray):
        return list(points)
    points = points.copy()
    points.setflags(write=False)
    return points


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _in_words(input_map: Affine) -> str:
    """What an input map does to rows."""
    done = {"centered": input_map.center.any(), "scaled": (input_map.scale != 1).any()}
    return " and ".join(word for word, does in done.items() if does) or "mapped"


def _restored(origin: Origin | None, *arguments: Any) -> Machine:
    """Rebuild a machine from its pickle."""
    machine = Machine(*arguments)
    return machine if origin is None else machine.with_origin(origin)


def _restored_with(probability: Probability, origin: Origin | None, *arguments: Any) -> Machine:
    """The same for a machine with probabilities."""
    return _restored(origin, *arguments).with_probability(probability)
