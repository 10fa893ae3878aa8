"""Processors, memory and seconds until the first picture."""
