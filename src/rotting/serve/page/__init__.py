"""The page: what a product manager looks at. Made by the server, live, without a build chain."""
