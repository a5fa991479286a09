"""Passes on ``@main`` and its calls as they were imported: views, equal and dead calls, order by tokens."""
