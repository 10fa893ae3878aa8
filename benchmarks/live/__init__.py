"""Cameras over RTSP: latency, outages, and whether anything grows. The servers are those of tests/rtsp.py."""
