"""What the tests of the site share: the generator's modules, and skipping where a package is missing."""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "docs" / "site"))


def skip(reason: str) -> None:
    """Ends the test as skipped, with the reason."""
    print(f"skipped: {reason}")
    sys.exit(77)


def require_packages() -> None:
    """Skips where the generator's modules cannot be loaded."""
    try:
        import jinja2  # noqa: F401: only whether it is there
        import lxml  # noqa: F401
        import pygments  # noqa: F401
    except ImportError as error:
        skip(f"{error.name} is not installed; ./lockstep --no-install docs lists what the site needs")


def require_program(name: str) -> None:
    if shutil.which(name) is None:
        skip(f"{name} is not installed")
