"""Reading and writing parts of arrays, outside of jit."""

from benchmarks.plan.entries import Group, Measure, Program

GROUP = Group("indexing", "Indexing", "索引", (
    Program("benchmarks.measures.indexing", (
        Measure("index_scalar", "v[3]", 0.3),
        Measure("index_slice", "v[10:60]", 0.3),
        Measure("index_step", "v[::2]", 1.05),
        Measure("index_pair", "x[3, 5]", 0.3),
        Measure("index_column", "x[:, 5]", 0.3),
        Measure("index_newaxis", "x[None, 2:8]", 0.3),
        Measure("index_mask", "v[mask]", 0.3),
        Measure("index_array", "v[places]", 0.3),
        Measure("index_array_pair", "x[rows, rows]", 0.3),
        Measure("index_take", "jnp.take(x, rows, axis=0)", 1.05),
        Measure("set_scalar", "v.at[3].set(1.)", 0.15),
        Measure("set_slice", "v.at[10:60].set(part)", 0.15),
        Measure("set_pair", "x.at[3, 5].set(1.)", 0.15),
        Measure("set_array", "v.at[places].set(1.)", 0.15),
        Measure("set_mask", "v.at[mask].set(0.)", 0.15),
        Measure("add_scalar", "v.at[3].add(1.)", 0.15),
        Measure("add_array", "v.at[places].add(part)", 0.15),
        Measure("max_array", "v.at[places].max(part)", 0.15),
    ), rounds=5),
), note="Outside of jit: v has 1000 elements, x is 100x100, places and rows are 50 integers, mask is about half true.",
   note_zh="均在 jit 之外：v 有 1000 个元素，x 为 100x100，places 与 rows 是 50 个整数，mask 约一半为真。")
