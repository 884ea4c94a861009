"""What is shown and written, for every part of the package: figure style, pages, files, progress."""
