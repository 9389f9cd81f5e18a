"""What all displays share: the rows they are made of, the axes they draw on, and colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dormie.machine import Machine
from dormie.machine.rows import check_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#2a6fb0", "#d9822b", "#c9ced6"


def rows_to_show(X: Any, machine: Machine) -> Any:
    """The rows as the machine takes them; none are refused, since nothing could be drawn."""
    rows = check_rows(X, machine)
    if not rows.shape[0]:
        raise ValueError("X has no rows: pass some to draw a display of")
    return rows


def axes_for(ax: Any, columns: int = 1, size: tuple[float, float] = (6.4, 3.6)) -> tuple[Figure, list[Axes]]:
    """The axes that the caller gave, or new ones, and their figure."""
    try:
        import matplotlib.pyplot as plt  # optional
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("displays need matplotlib: pip install 'dormie[plot]'", name=error.name) from error
    if ax is None:
        figure, made = plt.subplots(1, columns, figsize=size, layout="constrained", squeeze=False)
        return figure, list(made[0])
    given = list(ax) if columns > 1 else [ax]
    if len(given) != columns:
        raise ValueError(f"ax must have {columns} axes, got {len(given)}")
    return given[0].figure, given


def percent_axis(axis: Any) -> None:
    """Show shares as percent."""
    from matplotlib.ticker import PercentFormatter  # optional

    axis.set_major_formatter(PercentFormatter(1.0))
