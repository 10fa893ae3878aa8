"""Cameras and published streams: sources and sinks that reopen lost connections, and never wait for each other."""
