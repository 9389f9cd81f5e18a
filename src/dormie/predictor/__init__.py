"""The plan at work: rows in, answers out, each row stopping at the first stage that settles it.

predictor   what users call                    anytime   certified intervals before all work is done
cascade     rows through the stages            deadline  answers at a deadline
audit       the guarantee checked in service   evidence  what the checks prove, after any number of rows
merging     one status of the audits of many workers
dissimilarity  how unlike the support vectors a row is, and so how often it is checked
fitted_estimator  what scikit-learn's tools ask of a predictor      availability  methods that only some predictors have
"""

from dormie.predictor.anytime import Step
from dormie.predictor.audit import Status
from dormie.predictor.deadline import Answers
from dormie.predictor.merging import merge_audits
from dormie.predictor.predictor import AuditedPredictor, Predictor, Trace

__all__ = ["Answers", "AuditedPredictor", "Predictor", "Status", "Step", "Trace", "merge_audits"]
