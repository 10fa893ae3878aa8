"""Cameras and published streams: sources and sinks that reopen what is lost, and never wait for each other."""
