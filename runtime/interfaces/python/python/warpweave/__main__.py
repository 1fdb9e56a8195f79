"""The program `warpweave`: `python -m warpweave`."""

import sys

from . import _native


def main():
    _native.run_by([sys.executable, "-m", "warpweave"])
    return _native.main(["warpweave", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
