"""A simulated GPU fleet whose every second is known: dumps, and the truth to compare with.

It writes files and nothing else; it never reads a dump, a warehouse or the clock.
"""
