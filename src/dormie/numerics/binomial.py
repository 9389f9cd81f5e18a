"""The exact binomial test behind a certified risk."""

from __future__ import annotations


def p_value(rows: int, disagreements: int, alpha: float) -> float:
    """P(Bin(rows, alpha) <= disagreements), which is 1 - I_alpha(disagreements + 1, rows - disagreements)."""
    from scipy.special import betaincc  # here: it takes longer to import than all of dormie

    if not 0 <= disagreements <= rows:
        raise ValueError(f"there cannot be {disagreements} disagreements on {rows} rows")
    return 1.0 if disagreements == rows else float(betaincc(disagreements + 1, rows - disagreements, alpha))
