"""The errors and warnings a caller may want to catch by name; every other error is a plain ValueError or TypeError."""


class UnreadableModelError(ValueError):
    """A model that cannot be brought to normal form. The message says what to do instead."""


class PlanFileError(ValueError):
    """A plan file that is damaged, of another protocol, or not a plan file at all."""


class TrainingRowsWarning(UserWarning):
    """Rows to calibrate on that look like those the model was trained on."""


class MissingClassWarning(UserWarning):
    """A risk for each class that holds for some classes only: the rows to certify on had none of the others."""


class BrokenPromiseWarning(UserWarning):
    """An audit has found more disagreement with the full machine than the plan promises."""
