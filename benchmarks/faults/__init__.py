"""Does anything get through when the filter's parts, files or disk fail?"""
