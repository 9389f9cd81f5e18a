"""Rules: how outputs become an answer, and when intervals of the outputs already settle it.

base    what all rules have, those of classes and those of values
sign    two classes             vote    one output for each pair of classes
argmax  one output for each     value   the outputs themselves
confidence  pairs of classes, by scikit-learn's OneVsOneClassifier
threshold  a value compared with a threshold
transformed  outputs mapped back by a function
decision  what `decision_function` returns, as values
score   the scores of a one-class machine
several a label in each of several columns
log_density  the logarithm of a density
probability  from outputs to probabilities, and the most probable class
"""

from dormie.machine.rules.argmax import Argmax
from dormie.machine.rules.base import ClassRule, Rule, ValueRule
from dormie.machine.rules.confidence import OneVsOneConfidence
from dormie.machine.rules.decision import DecisionValue, decision_values
from dormie.machine.rules.log_density import LogDensity
from dormie.machine.rules.probability.rules import MostProbable, Probability
from dormie.machine.rules.score import Score
from dormie.machine.rules.several import SeveralLabels
from dormie.machine.rules.sign import OneClassSign, Sign, one_class_sign
from dormie.machine.rules.threshold import Threshold
from dormie.machine.rules.transformed import Transformed
from dormie.machine.rules.value import Value
from dormie.machine.rules.vote import OneVsOneVote

__all__ = [
    "Argmax",
    "ClassRule",
    "DecisionValue",
    "LogDensity",
    "MostProbable",
    "OneClassSign",
    "OneVsOneConfidence",
    "OneVsOneVote",
    "Probability",
    "Rule",
    "Score",
    "SeveralLabels",
    "Sign",
    "Threshold",
    "Transformed",
    "Value",
    "ValueRule",
    "decision_values",
    "one_class_sign",
]
