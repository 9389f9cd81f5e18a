"""The `dormie` command. It needs optional packages (typer, rich, scikit-learn); `main` says how to install them."""

from __future__ import annotations

import sys

_EXTRA = {"typer", "rich", "sklearn"}


def main() -> None:
    """Run the command line."""
    try:
        import sklearn  # noqa: F401 # optional

        from dormie.cli.app import app  # here: typer and rich are optional
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in _EXTRA:
            raise
        print(f'the dormie command needs {package}: pip install "dormie[cli]"', file=sys.stderr)
        raise SystemExit(1) from None
    app()
