"""The one service: where documents meet files, and where every interface comes in."""
