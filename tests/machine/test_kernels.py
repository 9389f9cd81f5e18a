"""Kernels: their NumPy form against the definition, and what they say of themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.machine import Floats
from dormie.machine.kernels import RBF, Custom, Kernel, Linear, Normalized, Polynomial, Sigmoid
from tests.oracles import full_sum as naive
from tests.properties.strategies import BY_DIFFERENCES, KERNELS, takes_shares

ALL = KERNELS + BY_DIFFERENCES


def _vectors(seed: int, kernel: Kernel | None = None) -> Floats:
    """A few vectors, a zero vector and a repeated one among them."""
    vectors = np.random.default_rng(seed).normal(size=(7, 3))
    vectors[2] = 0
    vectors[5] = vectors[4]
    return np.abs(vectors) if kernel is not None and takes_shares(kernel) else vectors


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_matrix_and_diagonal_are_the_definition(kernel: Kernel) -> None:
    a, b = _vectors(1, kernel), _vectors(2, kernel)[:5]
    expected = [[naive.kernel_value(kernel, u, v) for v in b.tolist()] for u in a.tolist()]
    np.testing.assert_allclose(kernel.matrix(a, b), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(kernel.diagonal(a), np.diag(kernel.matrix(a, a)), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("kernel", [k for k in ALL if k.positive_semidefinite], ids=str)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_kernel_that_claims_it_has_no_negative_eigenvalue(kernel: Kernel, seed: int) -> None:
    gram = kernel.matrix(_vectors(seed, kernel), _vectors(seed, kernel))
    assert np.linalg.eigvalsh(gram).min() >= -1e-12 * np.abs(gram).max()


@pytest.mark.parametrize("kernel", [k for k in ALL if k.nonnegative], ids=str)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_kernel_that_claims_it_is_never_negative(kernel: Kernel, seed: int) -> None:
    assert (kernel.matrix(_vectors(seed, kernel), _vectors(seed + 1, kernel)) >= 0).all()


def test_kernels_that_may_be_negative_or_indefinite_say_so() -> None:
    assert not Sigmoid(1.0).positive_semidefinite
    assert not Polynomial(1.0, -0.1, 2).positive_semidefinite
    assert not any(kernel.nonnegative for kernel in (Linear(), Polynomial(1.0, 1.0, 3), Sigmoid(1.0)))
    assert not Normalized(Polynomial(1.0, 1.0, 3)).nonnegative


def test_a_normalized_kernel_is_one_with_itself_and_zero_with_a_zero_vector() -> None:
    kernel, vectors = Normalized(Polynomial(2.0, 0.0, 3)), _vectors(3)
    assert kernel.diagonal(vectors).tolist() == [1, 1, 0, 1, 1, 1, 1]
    matrix = kernel.matrix(vectors, vectors)
    assert not matrix[2].any()
    assert not matrix[:, 2].any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RBF(0.0), "gamma must be positive, got 0.0"),
        (lambda: RBF(float("nan")), "gamma must be finite, got nan"),
        (lambda: Polynomial(-1.0), "gamma must be positive"),
        (lambda: Polynomial(1.0, float("inf")), "coef0 must be finite"),
        (lambda: Polynomial(1.0, 0.0, 0), "degree must be a whole number from 1 to 1,000,000, got 0"),
        (lambda: Polynomial(1.0, 0.0, 1_000_001), "degree must be a whole number from 1 to 1,000,000, got 1000001"),
        (lambda: Polynomial(1.0, 0.0, 2**40), "degree must be a whole number from 1 to 1,000,000"),
        (lambda: Polynomial(1.0, 0.0, float("inf")), "degree must be a whole number from 1"),  # type: ignore[arg-type]
        (lambda: Polynomial(1.0, 0.0, 2.5), "degree must be a whole number"),  # type: ignore[arg-type]
        (lambda: Sigmoid(float("-inf")), "gamma must be finite"),
        (lambda: Normalized(Sigmoid(1.0)), "Normalized needs"),  # type: ignore[arg-type]
        (lambda: Normalized(Polynomial(1.0, -1.0)), "coef0 >= 0"),
    ],
)
def test_bad_parameters_are_named(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_function_serves_as_a_kernel_if_it_returns_the_whole_matrix() -> None:
    words = ["ash", "elm", "oak", "fir"]
    kernel = Custom(lambda a, b: [[float(len(set(u) & set(v))) for v in b] for u in a])
    assert kernel.matrix(words, words[:2])[1].tolist() == [0.0, 3.0]
    assert kernel.diagonal(words).tolist() == [3.0, 3.0, 3.0, 3.0]
    with pytest.raises(ValueError, match=r"returned shape \(4,\) for 4 and 2 rows; .* shape \(4, 2\)"):
        Custom(lambda a, _: [0.0] * len(a)).matrix(words, words[:2])


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"value_error": -1e-9}, "value_error must be at least 0 and less than 0.001, got -1e-09"),
        ({"value_error": float("nan")}, "value_error must be at least 0"),
        ({"value_error": 0.5}, "less than 0.001, got 0.5"),
        ({"self_similarity": 0.0}, "self_similarity must be positive and finite, got 0.0"),
        ({"self_similarity": float("inf")}, "self_similarity must be positive and finite, got inf"),
    ],
)
def test_what_is_stated_of_a_function_is_checked(stated: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Custom(len, **stated)  # type: ignore[arg-type]


def test_a_function_is_called_for_own_values_unless_they_are_stated() -> None:
    calls = []

    def lengths(a: list[str], b: list[str]) -> list[list[float]]:
        calls.append((len(a), len(b)))
        return [[float(len(u) * len(v)) for v in b] for u in a]

    assert Custom(lengths).diagonal(["ab", "c"]).tolist() == [4.0, 1.0]
    assert calls == [(1, 1), (1, 1)]
    assert Custom(lengths, self_similarity=9.0).diagonal(["ab", "c"]).tolist() == [9.0, 9.0]
    assert (Custom(lengths).evaluations_of_diagonal, Custom(lengths, self_similarity=1).evaluations_of_diagonal) == (
        1,
        0,
    )
    assert len(calls) == 2


def test_a_function_is_shown_by_its_name_and_what_is_stated() -> None:
    assert repr(Custom(len)) == "Custom(len)"  # type: ignore[arg-type]
    stated = Custom(len, positive_semidefinite=True, self_similarity=1.0)  # type: ignore[arg-type]
    assert repr(stated) == "Custom(len, positive_semidefinite=True, self_similarity=1.0)"
