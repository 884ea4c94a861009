"""The experiments of the paper, one file each: settings, analysis, plot."""
