"""Do the new faces pass for real, and do what the originals do?"""
