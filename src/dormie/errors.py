"""The errors a caller may want to catch by name; everything else is a plain ValueError or TypeError."""


class UnreadableModelError(ValueError):
    """A model that cannot be brought to normal form. The message says what to do instead."""


class PlanFileError(ValueError):
    """A plan file that is damaged, of another protocol, or not a plan file at all."""
