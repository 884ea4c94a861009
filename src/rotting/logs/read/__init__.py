"""From any table to counts: sources, shapes, columns, values, sanity."""
