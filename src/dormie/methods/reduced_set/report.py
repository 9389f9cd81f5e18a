"""A reduction in words, for readers who have not read the paper."""

from __future__ import annotations

import numpy as np

from dormie.machine import Machine
from dormie.methods.reduced_set.errors import Distance, Errors, root_mean_square

_CONSTANT = 1e-9  # relative to the largest output: a smaller spread counts as none


def report(
    machine: Machine, original: Machine, exact: bool, distance: Distance | None, errors: Errors, threshold: str | None
) -> str:
    """The text of `Reduction.report`."""
    lines = [_size(machine, original, exact), *([] if exact else _feature_space(distance)), *_on_rows(errors)]
    if threshold is not None:
        lines.append(f"Threshold: refitted on {threshold}.")
    return "\n".join(lines)


def _size(machine: Machine, original: Machine, exact: bool) -> str:
    many, few = original.n_points, machine.n_points
    if many == few:
        return f"Not reduced: it has no more vectors than were asked for. {machine}"
    how = "exactly, by algebra" if exact else "approximately"
    return f"Reduced from {many:,} vectors to {few:,}, {how}: {many / max(few, 1):.3g} times less work. {machine}"


def _feature_space(distance: Distance | None) -> list[str]:
    if distance is None:
        return ["Distance in feature space: there is none for this kernel, or its numbers are out of range."]
    relative = distance.relative
    worst = f", {_percent(relative.max())} at worst" if len(relative) > 1 else ""
    size, off = (float(root_mean_square(part)) for part in (distance.norm, distance.distance))
    return [
        f"Distance in feature space: |w - w'| is {_percent(off / size if size else 0.0)} of |w|{worst}. "
        "Times sqrt(K(x, x)) it bounds the error of any row x, up to rounding."
    ]


def _on_rows(errors: Errors) -> list[str]:
    rms, spread = (float(root_mean_square(part)) for part in (errors.rms, errors.spread))
    vary = spread > _CONSTANT * np.abs(errors.before).max()
    of_spread = f" ({_percent(rms / spread)} of their standard deviation)" if vary else ""
    lines = [
        f"Measured on {errors.rows}.",
        f"Outputs: root mean square error {rms:.3g}{of_spread}, largest {errors.largest.max():.3g}.",
    ]
    if errors.differing is not None:
        count = len(errors.before)
        lines.append(f"Labels: {count - errors.differing:,} of {count:,} the same ({_percent(errors.agreement)}).")
    return lines


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.3g} %"
