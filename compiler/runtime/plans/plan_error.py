"""What is wrong with a launch plan, in one sentence."""


class PlanError(ValueError):
    """A plan that cannot be read or must not run.  ``place``: where in its text ("plan.txt:12:5"), or in
    which step of which function.
    """

    def __init__(self, message: str, place: str) -> None:
        self.message, self.place = message, place
        super().__init__(f"{place}: {message}")
