"""The rooms put together: the loop, files, live, single pictures, and `components`, which names the concrete parts.

Nothing here computes on pixels. The command line and the service start what stands here.
"""
