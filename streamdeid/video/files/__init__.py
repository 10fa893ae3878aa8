"""Recordings: a source, and a sink that keeps times, sound and rotation and writes a whole file or none."""
