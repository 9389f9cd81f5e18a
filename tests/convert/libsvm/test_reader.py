"""LIBSVM text models, read and written: the values and labels of LIBSVM itself, and no trust in the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from ctypes import c_double
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libsvm.svm import gen_svm_nodearray, libsvm
from libsvm.svmutil import svm_load_model, svm_save_model, svm_train
from sklearn.svm import SVC, SVR, OneClassSVM
from threadpoolctl import threadpool_limits

from dormie.convert import read
from dormie.convert.libsvm.reader import read_libsvm
from dormie.convert.libsvm.writer import write_libsvm
from dormie.errors import UnreadableModelError
from dormie.machine import Affine, Machine, kernels
from dormie.machine.rules import Argmax, OneVsOneVote, Sign, Value, one_class_sign
from dormie.numerics import reference

Rows = npt.NDArray[np.float64]
RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(60, 4)), 3) * (RNG.random((60, 4)) < 0.8)
NEW = RNG.normal(size=(120, 4)) * (RNG.random((120, 4)) < 0.8)
VALUES = np.sin(X[:, 0]) + X[:, 1]
SIDE = X[:, 0] + X[:, 3] ** 2 > 0.7
# The first row decides which label comes first in a file: not the smallest here.
TWO = np.where(SIDE[0] == SIDE, 5, -2)
FOUR = np.array([30, 10, 40, 20])[(2 * (X[:, 0] > 0) + (X[:, 1] > 0) + 2) % 4]
TARGETS = {
    "c_svc": (0, [TWO, FOUR]),
    "nu_svc": (1, [TWO, FOUR]),
    "one_class": (2, [np.ones(60)]),
    "epsilon_svr": (3, [VALUES]),
    "nu_svr": (4, [VALUES]),
}
CASES = [(number, targets) for number, several in TARGETS.values() for targets in several]


@pytest.fixture
def trained(tmp_path: Path) -> Callable[[int, int, Any], tuple[Any, Path]]:
    """LIBSVM's own model of the data and the file it saves, for an svm type and a kernel by their numbers.

    The model is the one loaded again: a freshly trained one borrows the memory of its training rows.
    """

    def train(svm_type: int, kernel: int, targets: Any) -> tuple[Any, Path]:
        model = svm_train(targets, X, f"-s {svm_type} -t {kernel} -n 0.4 -g 0.3 -r 0.4 -d 2 -q")
        path = tmp_path / "libsvm.model"
        svm_save_model(str(path), model)
        return svm_load_model(str(path)), path

    return train


def libsvm_answers(model: Any, rows: Rows = NEW) -> tuple[Rows, Rows]:
    """Labels and decision values, from the C function itself: svm_predict of 3.37 has a buffer too short for nu_svc."""
    n_values = model.get_nr_class() * (model.get_nr_class() - 1) // 2
    buffer = (c_double * n_values)()
    labels, values = [], []
    with threadpool_limits(1):  # many threads for a few rows only get in each other's way
        for row in rows:
            nodes, _ = gen_svm_nodearray(row)
            labels.append(libsvm.svm_predict_values(model, nodes, buffer))
            values.append(list(buffer))
    return np.array(labels), np.array(values)


def assert_same_answers(machine: Machine, model: Any) -> None:
    labels, values = libsvm_answers(model)
    outputs = reference.outputs(machine, NEW)
    assert (np.abs(outputs - values) <= 1e-10 * np.abs(values) + 1e-13 * reference.absolute_sums(machine, NEW)).all()
    answers = machine.rule.labels(machine.rule.answer(outputs))
    if isinstance(machine.rule, Value):
        np.testing.assert_allclose(answers, labels, rtol=1e-10, atol=1e-10)
    else:
        np.testing.assert_array_equal(answers, labels)


def assert_same_machine(one: Machine, other: Machine) -> None:
    assert one.kernel == other.kernel
    assert one.rule == other.rule
    for name in ("points", "weights", "bias"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(("svm_type", "targets"), CASES)
@pytest.mark.parametrize("kernel", [0, 1, 2, 3])
def test_every_type_and_kernel_reads_as_libsvm_answers(trained: Any, svm_type: int, kernel: int, targets: Any) -> None:
    model, path = trained(svm_type, kernel, targets)
    assert_same_answers(read_libsvm(path, n_features=4), model)


@pytest.mark.parametrize(("svm_type", "targets"), CASES)
@pytest.mark.parametrize("kernel", [0, 1, 2, 3])
def test_what_is_written_libsvm_loads_and_answers_alike(
    trained: Any, tmp_path: Path, svm_type: int, kernel: int, targets: Any
) -> None:
    model, path = trained(svm_type, kernel, targets)
    written = tmp_path / "written.model"
    write_libsvm(read_libsvm(path, n_features=4), written)
    assert_same_answers(read_libsvm(written, n_features=4), model)
    assert_same_answers(read_libsvm(path, n_features=4), svm_load_model(str(written)))


@pytest.mark.parametrize(("svm_type", "targets"), CASES)
@pytest.mark.parametrize("kernel", [0, 1, 2])
def test_a_file_read_and_written_and_read_is_the_same_machine(
    trained: Any, tmp_path: Path, svm_type: int, kernel: int, targets: Any
) -> None:
    machine, written = read_libsvm(trained(svm_type, kernel, targets)[1], n_features=4), tmp_path / "written.model"
    write_libsvm(machine, written)
    assert_same_machine(read_libsvm(written, n_features=4), machine)


def test_the_first_label_of_the_file_is_the_positive_one_and_zero_is_the_second(trained: Any) -> None:
    _, path = trained(0, 2, TWO)
    assert b"label 5 -2" in path.read_bytes()
    assert read_libsvm(path).rule == Sign(np.array([-2, 5]), zero=0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 5))
def test_tied_votes_and_zeros_go_where_libsvm_sends_them(
    tmp_path_factory: pytest.TempPathFactory, seed: int, k: int
) -> None:
    """Coefficients and rows are small whole numbers and the kernel is linear: values are exact, zeros and ties many."""
    rng = np.random.default_rng(seed)
    owner = np.sort(rng.integers(0, k, size=8))
    counts = np.bincount(owner, minlength=k)
    labels = rng.permutation(k)
    lines = ["svm_type c_svc", "kernel_type linear", f"nr_class {k}", "total_sv 8"]
    lines += [f"rho {' '.join(map(str, rng.integers(-1, 2, size=k * (k - 1) // 2)))}"]
    lines += [f"label {' '.join(map(str, labels))}", f"nr_sv {' '.join(map(str, counts))}", "SV"]
    for coefficients, point in zip(rng.integers(-1, 2, size=(8, k - 1)), rng.integers(-1, 2, size=(8, 2)), strict=True):
        lines.append(f"{' '.join(map(str, coefficients))} 1:{point[0]} 2:{point[1]} ")
    path = tmp_path_factory.mktemp("ties") / "tied.model"
    path.write_text("\n".join(lines) + "\n")
    rows = np.array([[a, b] for a in range(-2, 3) for b in range(-2, 3)], dtype=np.float64)
    labels_there, values = libsvm_answers(svm_load_model(str(path)), rows)
    machine = read_libsvm(path)
    outputs = reference.outputs(machine, rows)
    np.testing.assert_array_equal(outputs, values)
    np.testing.assert_array_equal(machine.rule.labels(machine.rule.answer(outputs)), labels_there)


def test_headers_about_probabilities_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "probabilities.model"
    svm_save_model(str(path), svm_train(FOUR, X, "-b 1 -q"))
    assert b"probA" in path.read_bytes()
    assert_same_answers(read_libsvm(path, n_features=4), svm_load_model(str(path)))


def test_a_path_goes_to_the_libsvm_reader(trained: Any) -> None:
    _, path = trained(0, 2, FOUR)
    assert_same_machine(read(path), read_libsvm(path))
    assert_same_machine(read(str(path)), read_libsvm(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.model"):
        read_libsvm(tmp_path / "nowhere.model")


def test_rows_wider_than_the_highest_index_need_the_number_of_features(tmp_path: Path) -> None:
    path = tmp_path / "narrow.model"
    write_libsvm(Machine(kernels.RBF(1.0), [[1.0, 0.0, 0.0]], np.full(1, 2.0), np.ones(1), Value()), path)
    assert read_libsvm(path).n_features == 1
    assert read_libsvm(path, n_features=3).points.tolist() == [[1.0, 0.0, 0.0]]


def test_a_model_without_vectors_needs_the_number_of_features(tmp_path: Path) -> None:
    path = tmp_path / "constant.model"
    write_libsvm(Machine(kernels.RBF(1.0), np.zeros((0, 3)), np.zeros((0, 1)), np.full(1, 4.5), Value()), path)
    assert reference.outputs(read_libsvm(path, n_features=3), np.zeros((2, 3))).tolist() == [[4.5], [4.5]]
    with pytest.raises(UnreadableModelError, match="pass n_features"):
        read_libsvm(path)


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 3
total_sv 4
rho 0.1 0.2 0.3
label 3 1 2
nr_sv 1 2 1
SV
1 0.5 1:0.5 3:-1
-1 0.25 2:1
-1 0.5
-0.75 -0.5 1:1e-3 2:2 3:3
"""


def test_the_example_that_the_malformed_ones_are_made_of_is_good(tmp_path: Path) -> None:
    path = tmp_path / "good.model"
    path.write_text(GOOD + "\n\n")
    machine = read_libsvm(path)
    assert machine.points.tolist() == [[0.5, 0.0, -1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.001, 2.0, 3.0]]
    assert machine.weights.tolist() == [[1.0, 0.5, 0.0], [-1.0, 0.0, 0.25], [-1.0, 0.0, 0.5], [0.0, -0.75, -0.5]]
    assert machine.bias.tolist() == [-0.1, -0.2, -0.3]
    assert machine.rule == OneVsOneVote(np.array([3, 1, 2]), shape="ovo")
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert_same_machine(read_libsvm(path), machine)


MALFORMED = [
    ("svm_type c_svc", "svm_type d_svc", "line 1: svm_type 'd_svc' is none of c_svc"),
    ("svm_type c_svc", "svm_type", "line 1: expected 1 values, found 0"),
    ("svm_type c_svc\n", "", "the header svm_type is missing"),
    ("svm_type c_svc", "svm_type epsilon_svr", "line 4: epsilon_svr has one output"),
    ("kernel_type rbf", "kernel_type precomputed", "line 2: a precomputed kernel .* build a dormie.Machine"),
    ("kernel_type rbf", "kernel_type cosine", "line 2: kernel_type 'cosine' is none of linear"),
    ("kernel_type rbf", "kernel_type polynomial", "the header coef0 is missing"),
    ("gamma 0.5\n", "", "the header gamma is missing"),
    ("gamma 0.5", "gamma half", "line 3: 'half' is not a finite number"),
    ("gamma 0.5", "gamma nan", "line 3: 'nan' is not a finite number"),
    ("gamma 0.5", "gamma 1_0", "line 3: '1_0' is not a finite number"),
    ("gamma 0.5", "gamma 0", "line 2: RBF: gamma must be positive"),
    ("gamma 0.5", "gamma 0.5\ngamma 0.5", "line 4: the header gamma appears twice"),
    ("gamma 0.5", "gama 0.5", "line 3: 'gama' is not a header of a LIBSVM text model"),
    ("gamma 0.5", "", "line 3: '' is not a header"),
    ("nr_class 3", "nr_class 1", "line 4: nr_class is 1"),
    ("nr_class 3", "nr_class -3", "line 4: nr_class is -3"),
    ("nr_class 3", "nr_class 2147483647", "line 6: expected 2305843005992468481 values, found 3"),
    ("nr_class 3", "nr_class 99999999999999", "line 4: '99999999999999' is not a whole number"),
    ("nr_class 3", "nr_class 0_3", "line 4: '0_3' is not a whole number"),
    ("nr_class 3", "nr_class 3.0", "line 4: '3.0' is not a whole number"),
    ("total_sv 4", "total_sv 2147483647", "line 5: total_sv is 2147483647, but 4 lines follow"),
    ("total_sv 4", "total_sv 3", "line 5: total_sv is 3, but 4 lines follow"),
    ("rho 0.1 0.2 0.3", "rho 0.1 0.2", "line 6: expected 3 values, found 2"),
    ("rho 0.1 0.2 0.3", "rho 0.1 0.2 inf", "line 6: 'inf' is not a finite number"),
    ("label 3 1 2", "label 3 1 x", "line 7: 'x' is not a whole number"),
    ("label 3 1 2", "label 3 1 3", "line 7: a label appears twice"),
    ("label 3 1 2\n", "", "the header label is missing"),
    ("nr_sv 1 2 1", "nr_sv 1 2 2", "line 8: the counts must add up to total_sv = 4"),
    ("nr_sv 1 2 1", "nr_sv 5 -2 1", "line 8: the counts must add up to total_sv = 4"),
    ("nr_sv 1 2 1\n", "", "the header nr_sv is missing"),
    ("SV\n", "", "line 9: '1' is not a header"),
    ("-1 0.5\n", "-1\n", "line 12: expected 2 coefficients, found 1"),
    ("-1 0.5\n", "\n", "line 12: expected 2 coefficients, found 0"),
    ("-1 0.25 2:1", "-1 2:1 0.25", "line 11: '2:1' is not a finite number"),
    ("-1 0.25 2:1", "-1 0.25 2", "line 11: expected index:value, found '2'"),
    ("-1 0.25 2:1", "-1 0.25 2:", "line 11: '' is not a finite number"),
    ("-1 0.25 2:1", "-1 0.25 :1", "line 11: '' is not a whole number"),
    ("-1 0.25 2:1", "-1 0.25 2:1:1", "line 11: '1:1' is not a finite number"),
    ("-1 0.25 2:1", "-1 0.25 2:1e999", "line 11: '1e999' is not a finite number"),
    ("-1 0.25 2:1", "-1 0.25 0:1", "line 11: index 0 after 0: indices start at 1"),
    ("-1 0.25 2:1", "-1 0.25 -2:1", "line 11: index -2 after 0: indices start at 1"),
    ("-1 0.25 2:1", "-1 0.25 2:1 2:1", "line 11: index 2 after 2: indices start at 1 and ascend"),
    ("1:1e-3 2:2 3:3", "1:1 3:3 2:2", "line 13: index 2 after 3: indices start at 1 and ascend"),
    ("-1 0.25 2:1", "-1 0.25 2147483648:1", "line 11: '2147483648' is not a whole number that LIBSVM can hold"),
]


@pytest.mark.parametrize(("part", "instead", "message"), MALFORMED)
def test_a_malformed_file_is_refused_by_line(tmp_path: Path, part: str, instead: str, message: str) -> None:
    path = tmp_path / "bad.model"
    assert GOOD.count(part) == 1
    path.write_text(GOOD.replace(part, instead))
    with pytest.raises(UnreadableModelError, match=message) as caught:
        read_libsvm(path)
    assert str(caught.value).count("bad.model") == 1


@pytest.mark.parametrize("length", range(0, len(GOOD) - 12, 7))
def test_a_file_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "short.model"
    path.write_text(GOOD[:length])
    with pytest.raises(UnreadableModelError, match=r"short\.model"):
        read_libsvm(path)


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, len(GOOD) - 1), junk=st.binary(min_size=1, max_size=4))
def test_damage_anywhere_is_refused_or_harmless_never_a_crash(
    tmp_path_factory: pytest.TempPathFactory, place: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("damage") / "damaged.model"
    good = GOOD.encode()
    path.write_bytes(good[:place] + junk + good[place + len(junk) :])
    try:
        assert read_libsvm(path).n_points == 4
    except UnreadableModelError as error:
        assert "damaged.model" in str(error)  # noqa: PT017


def test_other_binary_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(b"\x80\x04\x95" + bytes(range(256)))
    with pytest.raises(
        UnreadableModelError, match=r"line 1: .* is not a header of a LIBSVM text model\. .*dormie\.load"
    ):
        read_libsvm(path)


def test_fewer_features_than_the_file_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "good.model"
    path.write_text(GOOD)
    with pytest.raises(UnreadableModelError, match="line 10: index 3 lies beyond n_features=2"):
        read_libsvm(path, n_features=2)


@pytest.mark.parametrize("labels", [TWO, FOUR, FOUR.astype(float), TWO == 5])
def test_a_scikit_learn_classifier_written_answers_alike_in_libsvm(tmp_path: Path, labels: Any) -> None:
    svc = SVC(gamma=0.3).fit(X, labels)
    write_libsvm(read(svc), tmp_path / "svc.model")
    answers, _ = libsvm_answers(svm_load_model(str(tmp_path / "svc.model")))
    np.testing.assert_array_equal(answers, svc.predict(NEW).astype(float))


def test_scikit_learn_regressors_and_one_class_machines_written_answer_alike_in_libsvm(tmp_path: Path) -> None:
    for model in (SVR(gamma=0.3).fit(X, VALUES), OneClassSVM(nu=0.4).fit(X)):
        write_libsvm(read(model), tmp_path / "one.model")
        answers, _ = libsvm_answers(svm_load_model(str(tmp_path / "one.model")))
        np.testing.assert_allclose(answers, model.predict(NEW), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("rule", "weights", "svm_type"),
    [
        (Sign(np.array([-1, 1]), zero=0), [1.0, -1.0], "c_svc"),
        (Sign(np.array([-1, 1]), zero=0), [1.0, 0.5], "c_svc"),  # a linear classifier is one point of weight 1
        (one_class_sign(), [1.0, 0.5], "one_class"),
        (one_class_sign(), [1.0, -1.0], "c_svc"),  # LIBSVM trains none with negative weights
    ],
)
def test_a_classifier_of_plus_and_minus_one_stays_a_classifier(
    tmp_path: Path, rule: Sign, weights: list[float], svm_type: str
) -> None:
    path = tmp_path / "signs.model"
    write_libsvm(Machine(kernels.RBF(1.0), X[:2], np.array(weights), np.zeros(1), rule), path)
    assert path.read_text().startswith(f"svm_type {svm_type}\n")


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_numbers_survive_writing_and_reading_bit_for_bit(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel = kernels.Polynomial(float(rng.exponential()), float(rng.normal()), 4)
    points = rng.normal(size=(5, 3)) * 10.0 ** rng.integers(-300, 300, size=(5, 3))
    machine = Machine(kernel, points, rng.normal(size=5) / 3, rng.normal(size=1), Value())
    path = tmp_path_factory.mktemp("bits") / "machine.model"
    write_libsvm(machine, path)
    assert_same_machine(read_libsvm(path), machine)


def test_points_in_any_order_are_grouped_by_class(tmp_path: Path) -> None:
    machine = read(SVC(gamma=0.3, decision_function_shape="ovo").fit(X, FOUR))
    shuffle = np.random.default_rng(0).permutation(machine.n_points)
    shuffled = replace(machine, points=machine.points[shuffle], weights=machine.weights[shuffle])
    write_libsvm(shuffled, tmp_path / "shuffled.model")
    back = read_libsvm(tmp_path / "shuffled.model", n_features=4)
    np.testing.assert_allclose(reference.outputs(back, NEW), reference.outputs(machine, NEW), rtol=1e-12, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(3, 6), zeros=st.floats(0, 0.9))
def test_points_that_serve_every_pair_are_written_once_a_class_and_answer_alike_in_libsvm(
    tmp_path_factory: pytest.TempPathFactory, seed: int, k: int, zeros: float
) -> None:
    """As those of a reduced set do; LIBSVM keeps only the pairs of one class for each vector."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(7, k * (k - 1) // 2))
    weights[rng.random(weights.shape) < zeros] = 0
    bias, rule = rng.normal(size=weights.shape[1]), OneVsOneVote(rng.permutation(k), shape="ovo")
    machine = Machine(kernels.RBF(0.3), X[:7], weights, np.asarray(bias), rule)
    path = tmp_path_factory.mktemp("shared") / "shared.model"
    write_libsvm(machine, path)
    assert_same_answers(machine, svm_load_model(str(path)))
    back = read_libsvm(path, n_features=4)
    assert back.n_points <= 7 * (k - 1)
    np.testing.assert_allclose(reference.outputs(back, NEW), reference.outputs(machine, NEW), rtol=1e-12, atol=1e-12)


BINARY = Machine(kernels.RBF(1.0), X[:2], np.array([1.0, -1.0]), np.zeros(1), Sign(np.array([0, 1])))
THREE = np.array([1, 2, 3])
UNWRITABLE = [
    (
        replace(BINARY, input_map=Affine(np.zeros(4), np.ones(4))),
        "scaled input: reduce the final step itself on scaled rows.*scale rows yourself",
    ),
    (replace(BINARY, kernel=kernels.Normalized(kernels.Linear())), "not Normalized.*save a compiled plan instead"),
    (replace(BINARY, kernel=kernels.Custom(np.dot)), "not Custom.*save a compiled plan instead"),
    (replace(BINARY, rule=Sign(np.array(["a", "b"]))), "whole numbers of 32 bits, not 'a': number the classes"),
    (replace(BINARY, rule=Sign(np.array([0, 2**31]))), "whole numbers of 32 bits, not 2147483648"),
    (replace(BINARY, rule=Sign(np.array([0.5, 1.0]))), "whole numbers of 32 bits, not 0.5"),
    (replace(BINARY, rule=Value(flat=False)), "not by several values: save a compiled plan instead"),
    (
        Machine(kernels.RBF(1.0), X[:2], np.eye(2, 3), np.zeros(3), Argmax(THREE)),
        "not by the largest of 3 outputs: save a compiled plan instead",
    ),
    (
        Machine(kernels.RBF(1.0), X[:2], np.eye(2, 3), np.zeros(3), OneVsOneVote(THREE, break_ties=True)),
        r"not by a vote whose ties are broken by confidence \(break_ties=True\): save",
    ),
]


@pytest.mark.parametrize(("machine", "message"), UNWRITABLE)
def test_what_libsvm_cannot_express_is_not_written(tmp_path: Path, machine: Machine, message: str) -> None:
    path = tmp_path / "never.model"
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        write_libsvm(machine, path)
    assert not path.exists()
