"""The measurements. Each module runs as a program under either implementation and prints one line of JSON:
names and seconds. None of them may use anything but the public API, numpy and the standard library.
"""
