"""Who is who: looks of tracks, templates, recognisers, the register of persons and their coming back.

Nothing here renders or decides a protection level; no vector is ever printed or written. What is kept of people in a
register that runs share is a value here; only `runs.register_file` writes it, encrypted.
"""
