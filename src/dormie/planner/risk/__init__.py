"""Plans with a stated risk.

planning               the steps in order: split the rows, fit candidates, race, certify, compare with an exact plan
calibrated_candidates  candidates whose thresholds are measured, each at several cautions
disagreement           estimates of how likely a candidate is to be wrong
calibration            the certificate: tests on held-out rows how bold a plan may be
training_rows          detects rows that cannot certify, because the model was trained on them
"""
