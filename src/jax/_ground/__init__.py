"""The structural primitives that transformations themselves need, and the families that primitives come in."""
