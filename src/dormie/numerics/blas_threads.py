"""Matrix products in one thread: those of a fit are many and small, and the threads of a BLAS wait for one another
longer than they work, on a busy machine a hundred times longer. Fits that do not need one another run side by side.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """BLAS with one thread, where threadpoolctl, which comes with scikit-learn, is there to see to it."""
    try:
        from threadpoolctl import threadpool_limits  # optional
    except ImportError:
        return nullcontext()
    return threadpool_limits(1, user_api="blas")  # type: ignore[no-any-return]
