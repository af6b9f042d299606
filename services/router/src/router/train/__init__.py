"""Training: authored rows in, committed artefact and model card out. Only this package needs scikit-learn."""
