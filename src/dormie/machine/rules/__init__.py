"""Rules: how outputs become an answer, and when intervals of the outputs already settle it.

base    what all rules have, those of classes and those of values
sign    two classes             vote    one output for each pair of classes
argmax  one output for each     value   the outputs themselves
probability  from outputs to probabilities, and the most probable class
"""

from dormie.machine.rules.argmax import Argmax
from dormie.machine.rules.base import ClassRule, Rule, ValueRule
from dormie.machine.rules.probability.rules import MostProbable, Probability
from dormie.machine.rules.sign import Sign, one_class_sign
from dormie.machine.rules.value import Value
from dormie.machine.rules.vote import OneVsOneVote

__all__ = [
    "Argmax",
    "ClassRule",
    "MostProbable",
    "OneVsOneVote",
    "Probability",
    "Rule",
    "Sign",
    "Value",
    "ValueRule",
    "one_class_sign",
]
