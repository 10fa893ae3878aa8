"""Filters a long recording in two passes, segment by segment, in several processes: study, decide who is who, render.

What lives here: how the recording is cut, what each pass does, the processes, and the run. What does not: the rules
about people (`identity`), faces (`protect`) and files (`video.files`)."""
