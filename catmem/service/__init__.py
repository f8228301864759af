"""The one service: where documents meet files, and where every door comes in."""
