"""The command line, one file for each command: it reads options, prints one line and returns an exit code.

Code that other programs may want to use, too, is in `runs`.
"""
