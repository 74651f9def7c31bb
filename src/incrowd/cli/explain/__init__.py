"""``incrowd explain``: a guarantee, method, flag, finding, loss, file format or paper in words."""
