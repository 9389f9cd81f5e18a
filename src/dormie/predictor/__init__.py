"""The plan at work: rows in, answers out, each row stopping at the first stage that settles it.

predictor   what users call                    anytime  answers before all work is done
cascade     rows through the stages            audit    the guarantee checked in service
"""

from dormie.predictor.anytime import Answers, Step
from dormie.predictor.audit import Status
from dormie.predictor.predictor import AuditedPredictor, Predictor, Trace

__all__ = ["Answers", "AuditedPredictor", "Predictor", "Status", "Step", "Trace"]
