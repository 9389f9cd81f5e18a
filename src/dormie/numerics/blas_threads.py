"""BLAS limited to one thread, for fits.

A fit makes many small matrix products. Threads of BLAS would wait for one another longer than they compute, a hundred
times longer on a busy computer. Independent fits run in parallel instead.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread; has no effect without threadpoolctl, which scikit-learn installs."""
    try:
        from threadpoolctl import threadpool_limits  # optional
    except ImportError:
        return nullcontext()
    return threadpool_limits(1, user_api="blas")  # type: ignore[no-any-return]
