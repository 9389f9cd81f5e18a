"""From outputs to probabilities: maps that repeat what scikit-learn and LIBSVM do, and bounds of what they give.

base         what every map offers            calibrators  one score to one number: sigmoid, isotonic
calibrated   scikit-learn's maps of scores    coupling     LIBSVM's pairwise coupling
mean         the mean of several maps         rules        probabilities as values, and the most probable class
votes        shares of members' votes; probabilities of some of the classes
"""

from dormie.machine.rules.probability.base import ProbabilityMap
from dormie.machine.rules.probability.calibrated import Calibrated, Temperature
from dormie.machine.rules.probability.calibrators import Isotonic, Platt
from dormie.machine.rules.probability.coupling import Coupled
from dormie.machine.rules.probability.mean import Mean
from dormie.machine.rules.probability.rules import MostProbable, Probability
from dormie.machine.rules.probability.votes import Among, Votes

__all__ = [
    "Among",
    "Calibrated",
    "Coupled",
    "Isotonic",
    "Mean",
    "MostProbable",
    "Platt",
    "Probability",
    "ProbabilityMap",
    "Temperature",
    "Votes",
]
