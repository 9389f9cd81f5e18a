"""What Burges and Schölkopf printed: their Tables 1 to 3, and the sums and sizes given in the text."""

from __future__ import annotations

from dormie.lab.papers.table import Numbers

DIGITS = range(10)

ERRORS = {
    "ORIG": (17, 15, 34, 32, 30, 29, 30, 43, 47, 56),
    "VSV": (15, 13, 23, 21, 30, 23, 18, 39, 35, 40),
    "RS": (18, 12, 30, 27, 35, 27, 24, 57, 40, 40),
}
VECTORS = {
    "ORIG": (1206, 757, 2183, 2506, 1784, 2255, 1347, 1712, 3053, 2720),
    "VSV": (2938, 1887, 5015, 4764, 3983, 5235, 3328, 3968, 6978, 6348),
    "RS": (59, 38, 100, 95, 80, 105, 67, 79, 140, 127),
}
ERROR_PERCENT = {"ORIG": 1.4, "VSV": 1.0, "RS": 1.1}
MULTIPLY_ADDS = {"ORIG": 14_000_000, "VSV": None, "RS": 650_000}
TIMES_FEWER = {"ORIG": 1, "VSV": 0.5, "RS": 22}  # "roughly twice as many", "a factor of 22 fewer"
FEWER = "times fewer than ORIG"
FALL = 2.4  # how many times rho^2 fell, the mean of the first five digits

# The thresholds of the reduced sets, and the errors of each digit's own machine with them.
_THRESHOLDS = {
    "VSV": (1.39606, 3.98722, 1.27175, 1.26518, 2.18764, 2.05222, 0.95086, 3.0969, -1.06981, 1.10586),
    "Bayes": (1.48648, 4.43154, 1.33081, 1.42589, 2.3727, 2.21349, 1.06629, 3.34772, -1.19615, 1.10074),
    "test": (1.54696, 4.32039, 1.26466, 1.33822, 2.30899, 2.27403, 0.790952, 3.27419, -1.26365, 1.13754),
}
_THRESHOLD_ERRORS = {
    "VSV": (19, 24, 31, 29, 37, 33, 25, 59, 39, 40),
    "Bayes": ERRORS["RS"],
    "test": (17, 10, 29, 26, 33, 24, 20, 54, 37, 39),
}


def errors_and_vectors(system: str) -> Numbers:
    """A column of Tables 1 and 3."""
    pairs = zip(DIGITS, ERRORS[system], VECTORS[system], strict=True)
    return {
        **{f"digit {digit}": (errors, vectors) for digit, errors, vectors in pairs},
        "error in %": ERROR_PERCENT[system],
        "vectors": sum(VECTORS[system]),
        "multiply-adds": MULTIPLY_ADDS[system],
        FEWER: TIMES_FEWER[system],
    }


def thresholds(kind: str) -> Numbers:
    """A column of Table 2."""
    pairs = zip(DIGITS, _THRESHOLDS[kind], _THRESHOLD_ERRORS[kind], strict=True)
    return {f"digit {digit}": (threshold, errors) for digit, threshold, errors in pairs}
