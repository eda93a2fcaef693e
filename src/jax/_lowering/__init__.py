"""From jaxprs to StableHLO modules. Nothing here needs a device."""
