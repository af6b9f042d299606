"""Pure rules of the stand-ins: what a model would say, how a wire looks, what money allows."""
