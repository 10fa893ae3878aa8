"""The rooms put together: the loop, files, live, single pictures.

`session` is what a run opens once, `people` who is in a stream, and `parts` names the concrete parts and alone does.

Nothing here computes on pixels. The command line and the service start what stands here.
"""
