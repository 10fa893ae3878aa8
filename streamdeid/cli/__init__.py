"""The command line, one file for each command: options in, one line and an exit code out.

What a program could want too stands in `runs`.
"""
