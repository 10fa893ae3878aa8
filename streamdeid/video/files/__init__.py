"""Recordings: a source, a sink that keeps times, sound and rotation, and files that are whole or absent."""
