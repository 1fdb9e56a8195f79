"""What the package raises."""


class Error(Exception):
    """An error of warpweave.

    `code` is a short name that stays the same across versions, `help` says what to do, and `culprits` lists what is at fault, as
    `--json` prints it.
    """

    def __init__(self, message, *, code, help="", culprits=()):
        super().__init__(message)
        self.message = message
        self.code = code
        self.help = help
        self.culprits = list(culprits)

    def __str__(self):
        return f"{self.message} [{self.code}]" + (f"\n  help: {self.help}" if self.help else "")
