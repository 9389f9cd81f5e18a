"""Plans with a stated risk.

calibrated    candidates that are right on nearly all rows    calibration    how bold a plan may be: the certificate
disagreement  how likely a candidate is to be wrong           training_rows  rows that cannot certify
planning      the steps in order
"""
