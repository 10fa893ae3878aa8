"""A long recording in two passes, segment by segment, in several processes: study all, decide who is who once, render.

What lives here: how it is cut, what each pass does, the processes, the run. What does not: rules about people
(`identity`), faces (`protect`), and files (`video.files`)."""
