"""Sorting and order statistics, compared with NumPy too."""

from benchmarks.plan.entries import Group, Measure, Program

GROUP = Group("sorting", "Sorting", "排序", (
    Program("benchmarks.measures.sorting", (
        Measure("sort", "jnp.sort(x)", 0.3, 2.0),
        Measure("sort_int32", "jnp.sort, int32", 0.3, 2.0),
        Measure("sort_float64", "jnp.sort, float64", 0.3, 2.0),
        Measure("sort_float16", "jnp.sort, float16", 0.3, 2.0),
        Measure("sort_rows", "jnp.sort(rows)", 0.5, 2.0),
        Measure("sort_columns", "jnp.sort(rows, axis=0)", 0.5, 2.0),
        Measure("sort_short", "jnp.sort(short)", 0.5, 2.0),
        Measure("sort_middle", "jnp.sort(middle)", 0.5),
        Measure("argsort", "jnp.argsort(x)", 0.3, 2.0),
        Measure("argsort_rows", "jnp.argsort(rows)", 0.5, 2.0),
        Measure("argsort_short", "jnp.argsort(short)", 1.05, 2.0),
        Measure("sort_two", "lax.sort((x, x * 2))", 0.3, 2.0),
        Measure("top_k", "lax.top_k(x, 100)", 1.05, 2.0),
        Measure("partition", "jnp.partition(x, n // 3)", 0.3, 2.0),
        Measure("argpartition", "jnp.argpartition(x, n // 3)", 0.3, 2.0),
        Measure("median", "jnp.median(x)", 0.3, 2.0),
        Measure("median_rows", "jnp.median(rows, axis=1)", 0.5, 2.0),
        Measure("quantile", "jnp.quantile(x, 0.3)", 0.3, 2.0),
        Measure("unique", "jnp.unique(x)", 1.05, 2.0),
        Measure("searchsorted", "jnp.searchsorted(table, x)", 1.05, 2.0),
        Measure("permutation", "random.permutation(key, x)", 0.3, 2.0),
        Measure("choice", "random.choice(key, x, (n // 10,), replace=False)", 0.3, 2.0),
    ), rounds=3),
), note="x has n = 1,000,000 float32 elements, rows is 1000x1000, short is 10000x100, middle 4000x250, the table has 1000 "
        "elements.",
   note_zh="x 有 n = 1,000,000 个 float32 元素，rows 为 1000x1000，short 为 10000x100，middle 为 4000x250，"
           "table 有 1000 个元素。")
