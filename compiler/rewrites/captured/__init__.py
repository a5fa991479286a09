"""Rewrites of the graph that Dynamo captured, before AOTAutograd sees it."""
