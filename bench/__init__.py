"""Measures the product beside floors made of bare libraries, in one run on one machine."""
