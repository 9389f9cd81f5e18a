"""The numbers of Ukkonen's Table 1: accuracies and sizes on eleven of the IDA sets."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """One set: accuracies, support vectors of the SVM, kernel evaluations per row of the tree, vectors of both cpsp."""

    dummy: float
    linear: float
    svm: float
    tree: float
    cpsp: float
    cpsp_training: float
    support_vectors: int
    evaluations: float
    vectors: int


TABLE_1 = {
    "heart": Printed(0.56, 0.82, 0.82, 0.75, 0.84, 0.84, 60, 8.2, 9),
    "thyroid": Printed(0.71, 0.89, 0.96, 0.92, 0.92, 0.90, 13, 9.3, 10),
    "breast_cancer": Printed(0.70, 0.70, 0.71, 0.70, 0.73, 0.73, 120, 9.1, 10),
    "waveform": Printed(0.67, 0.87, 0.90, 0.86, 0.90, 0.88, 229, 9.5, 10),
    "german": Printed(0.70, 0.76, 0.75, 0.70, 0.76, 0.76, 373, 10.9, 11),
    "image": Printed(0.57, 0.85, 0.97, 0.89, 0.89, 0.87, 213, 11.9, 12),
    "diabetis": Printed(0.65, 0.77, 0.77, 0.73, 0.77, 0.77, 249, 10.0, 11),
    "ringnorm": Printed(0.50, 0.75, 0.98, 0.95, 0.84, 0.74, 152, 10.5, 11),
    "splice": Printed(0.51, 0.83, 0.89, 0.68, 0.86, 0.77, 588, 11.4, 12),
    "twonorm": Printed(0.50, 0.97, 0.98, 0.91, 0.98, 0.97, 263, 9.5, 10),
    "banana": Printed(0.54, 0.55, 0.89, 0.88, 0.86, 0.88, 151, 9.2, 10),
}
