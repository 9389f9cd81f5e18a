"""Models of digits that peers are measured on."""

from __future__ import annotations

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, NuSVC

X, DIGIT = load_digits(return_X_y=True)
TRAIN, TEST = X[:300] / 16, X[300:420] / 16
TEN, TWO = DIGIT[:300], DIGIT[:300] % 2

MODELS = {
    "two classes": SVC().fit(TRAIN, TWO),
    "ten classes": SVC().fit(TRAIN, TEN),
    "ovo": SVC(decision_function_shape="ovo").fit(TRAIN, TEN),
    "ovo, two classes": SVC(decision_function_shape="ovo").fit(TRAIN, TWO),
    "strings": SVC(C=5).fit(TRAIN, TEN.astype(str)),
    "polynomial": SVC(kernel="poly", degree=3, coef0=1).fit(TRAIN, TEN),
    "linear": SVC(kernel="linear").fit(TRAIN, TEN),
    "sigmoid": SVC(kernel="sigmoid", gamma=0.01).fit(TRAIN, TWO),
    "weighted classes": SVC(class_weight={1: 3.0}).fit(TRAIN, TWO),
    "pipeline": make_pipeline(StandardScaler(), SVC()).fit(TRAIN, TEN),
    "search": GridSearchCV(SVC(), {"C": [1, 2]}, cv=2).fit(TRAIN, TWO),
    "nu": NuSVC(nu=0.1).fit(TRAIN, TWO),
}
