"""The gateway's decisions: values in, values out."""
