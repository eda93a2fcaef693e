"""The runtime: devices, arrays on them, and compiled programs. PJRT only; it knows nothing of jaxprs."""
