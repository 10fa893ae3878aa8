"""Does another version of the program publish the same pictures?"""
