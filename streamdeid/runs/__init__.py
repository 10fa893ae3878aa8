"""The rooms put together: the loop, files, live, single pictures.

`session` is what a run opens once, `people` who is in a stream, and `parts` puts the concrete parts together;
camera and output of a live stream are named in `live_parts`, the whitelist's in `whitelist`.

Nothing here computes on pixels. The command line and the service start what stands here.
"""
