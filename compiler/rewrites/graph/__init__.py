"""Rewrites of each graph after AOTAutograd, and of joint graphs where they help there, too."""
