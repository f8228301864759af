"""Run another program of this folder with catmem's store in the place of Hermes Agent's: ``PROGRAM ARGUMENT...``."""

import runpy
import sys

from catmem.plugins.hermes.store_switch import use_catmem_store

use_catmem_store()
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
