"""The `dormie` command. It needs optional packages (typer, rich, scikit-learn); `main` says how to install them."""

from __future__ import annotations

import sys
from importlib.util import find_spec

_EXTRA = {"typer", "rich", "sklearn"}


def main() -> None:
    """Run the command line."""
    try:
        if find_spec("sklearn") is None:  # not imported here, which takes longer than most commands do without it
            raise ModuleNotFoundError(name="sklearn")
        from dormie.cli.app import app  # here: typer and rich are optional
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in _EXTRA:
            raise
        print(f'the dormie command needs {package}: pip install "dormie[cli]"', file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print("dormie: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    app()
