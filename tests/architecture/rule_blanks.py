"""Why a primitive may lack a rule: column -> reason -> names of primitives, separated by blanks."""

BLANKS: dict[str, dict[str, str]] = {
    "abstract": {},
    "lowering": {},
    "jvp": {},
    "transpose": {},
    "batching": {},
}
