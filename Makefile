# Everything runs in a virtual environment of the checkout, which the first target that needs it makes: .venv, or for a
# Python that is named one of its own (`make test PYTHON=python3.13` makes .venv-3.13). Nothing but pip uses the network.

PYTHON ?= python3
IS_NAMED := $(filter-out file,$(origin PYTHON))
VENV := .venv$(if $(IS_NAMED),-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null))
VENV_HERMES ?= .venv-hermes
VENV_CHEETAHCLAWS ?= .venv-cheetahclaws
VENV_DEFAULT := .venv-default
HERMES_AGENT := hermes-agent==0.19.0
CHEETAHCLAWS := cheetahclaws==3.5.89

BIN := $(VENV)/bin
PIP_INSTALL := -m pip install --quiet --quiet --disable-pip-version-check
DEMO := demo
DEMO_MARK := $(DEMO)/.made-by-make-demo

# One more than there are processors: many tests wait, for a process, a server or a watch.
WORKERS ?= $$(($$(getconf _NPROCESSORS_ONLN) + 1))

# The long proofs: how long for all of them, which part of each figure, which rows (all), where the table goes.
MINUTES ?= 15
SHARE ?= 1
ONLY ?=
# The build that `make same-as` compares with: a wheel.
OLD ?=
# Requests that `make api` makes up for each path.
EXAMPLES ?= 300
# And of the long tests: which part, and what draws them.
CASES ?= 1
LOT ?=
TABLE ?=

# A PYTHON that somebody named is taken at its word; else any Python that is new enough will do.
PYTHONS := $(PYTHON) $(if $(IS_NAMED),,python3.14 python3.13 python3.12 python3.11)

.PHONY: help check demo test browser-test api same-as hermes-test torture lint docs site packages bench build clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         an example root, and the prompt that one specialist gets from it"
	@echo "make test         the test suite, but for the browser and the long tests (with another Python: PYTHON=python3.13)"
	@echo "make check        the loop while you work: ruff, mypy, the fast tests (a minute)"
	@echo "make browser-test the page in a real Chromium, if there is one (a few minutes)"
	@echo "make api          the HTTP API against its OpenAPI document, with many requests (a minute or two)"
	@echo "make same-as      plays the same stories with an older build and this one, and compares all that a user sees:"
	@echo "                  OLD=path-of-a-wheel (about 6 minutes; some of the stories: ONLY=PATTERN)"
	@echo "make lint         ruff and mypy"
	@echo "make torture      the long proofs of the store: crashes, races, failing disks (15 minutes; all of it: MINUTES=140;"
	@echo "                  one row: ONLY=kills; a hundredth of each: SHARE=0.01; a fifth of the long tests: CASES=0.2; as Markdown too: TABLE=file)"
	@echo "make hermes-test  what is tested against the real Hermes Agent, which this installs"
	@echo "make docs         write docs/{cli,errors,rules,api}.md anew, from the code"
	@echo "make site         the docs as a site, in build/site"
	@echo "make packages     write anew what other programs install catmem by: plugins, server.json, llms.txt (docs/release.md)"
	@echo "make bench        speed, against the limits that the project sets itself (a few minutes)"
	@echo "make build        the source distribution and the wheel, in dist/"
	@echo "make clean        remove what these made"

# What is in the demo's folder stays: a person may have written there.
demo: $(VENV)/.installed
	@if [ -e $(DEMO) ] && [ ! -e $(DEMO_MARK) ]; then \
	  echo "make demo: $(DEMO)/ exists and was not made by 'make demo', so it was left alone. Move it away and run this again." >&2; \
	  exit 2; \
	fi
	@PATH="$(CURDIR)/$(BIN):$$PATH"; export PATH; \
	run() { printf '$$ %s\n' "$$*"; "$$@" || exit $$?; echo; }; \
	if [ -e $(DEMO)/catmem.yaml ]; then echo "$(DEMO)/ is there, and is used as it is; 'make clean' removes it."; \
	else mkdir -p $(DEMO) && touch $(DEMO_MARK) && run catmem init --example $(DEMO); fi; \
	run cd $(DEMO); \
	run catmem prompt trinity; \
	run catmem prompt trinity --explain; \
	echo "Next, two commands to type:"; \
	echo "  cd $(DEMO) && . $(CURDIR)/$(BIN)/activate"; \
	echo "  catmem add -p trinity -c workflow-rules-finance 'Invoices go out on Fridays.'"

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --torture 0 --ignore=tests/browser

check: lint
	@$(BIN)/python -m pytest -q -n auto --dist worksteal tests/unit/test_*.py tests/unit/syntax tests/unit/model tests/unit/config \
	  tests/unit/prompt tests/unit/threats tests/unit/linting tests/unit/search tests/unit/seeding/test_slices.py tests/unit/writing \
	  tests/unit/mcp tests/unit/server/api tests/interfaces tests/conformance tests/docs/test_links.py tests/docs/test_sentences.py

browser-test: $(VENV)/.dev
	@$(BIN)/python -m pytest -n auto -rs --torture $(CASES) --lot '$(LOT)' tests/browser

api: $(VENV)/.dev
	@CATMEM_API_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -q tests/unit/server/api/test_schemathesis.py

same-as: $(VENV)/.dev
	@if [ -z '$(OLD)' ]; then echo "make same-as: name the wheel of the older build: make same-as OLD=path-of-a-wheel" >&2; exit 2; fi
	@$(BIN)/python -m tests.same_as --old '$(OLD)' --only '$(ONLY)'

torture: $(VENV)/.dev
	@$(if $(ONLY),,$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m torture --torture $(CASES) --lot '$(LOT)' --ignore=tests/browser)
	@$(BIN)/python -m tests.torture --minutes $(MINUTES) --share $(SHARE) $(if $(TABLE),--markdown '$(TABLE)') \
	  $(foreach row,$(ONLY),'$(row)')

hermes-test: $(VENV)/.dev $(VENV_HERMES)/.tried
	@CATMEM_HERMES_PYTHON=$(CURDIR)/$(VENV_HERMES)/bin/python $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -rs \
	  tests/interplay/test_hermes*.py

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: $(VENV)/.dev
	@$(BIN)/python -m tests.docs.generated
	@$(BIN)/python -m packages.make

site: $(VENV)/.site
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "The site is in build/site: open build/site/index.html in a browser."

packages: $(VENV)/.dev
	@$(BIN)/python -m packages.make

bench: $(VENV)/.dev $(VENV_HERMES)/.tried $(VENV_CHEETAHCLAWS)/.tried
	@$(BIN)/python -m venv --clear $(VENV_DEFAULT)
	@$(VENV_DEFAULT)/bin/python $(PIP_INSTALL) .
	@$(BIN)/python -m benchmarks --python $(VENV_DEFAULT)/bin/python --hermes-python $(VENV_HERMES)/bin/python \
	  --cheetahclaws-python $(VENV_CHEETAHCLAWS)/bin/python

build: $(VENV)/.dev
	@$(BIN)/python -m build --outdir dist .

clean:
	@if [ ! -e $(DEMO) ] || [ -e $(DEMO_MARK) ]; then rm -rf $(DEMO); \
	else echo "make clean: $(DEMO)/ was not made by 'make demo', so it was left alone." >&2; fi
	@rm -rf .venv .venv-* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: a second run finds them newer than what they depend on and installs nothing.

$(VENV)/.python: Makefile
	@set -e; \
	if ! $(BIN)/python -c '$(IS_USABLE)' >/dev/null 2>&1 || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  chosen=; \
	  for python in $(PYTHONS); do \
	    if "$$python" -c '$(IS_USABLE)' >/dev/null 2>&1; then chosen=$$python; break; fi; \
	  done; \
	  if [ -z "$$chosen" ]; then \
	    if $(PYTHON) -c '$(IS_NEW)' >/dev/null 2>&1; then \
	      echo "make: $(PYTHON) cannot make virtual environments: its module ensurepip is missing." >&2; \
	      echo "On Debian and Ubuntu: apt install python3-venv. Or name another Python: make PYTHON=/path/to/python3" >&2; \
	    else \
	      found=$$($(PYTHON) --version 2>/dev/null) || found="nothing that runs as $(PYTHON)"; \
	      echo "make: catmem needs Python 3.11 or newer; found: $$found." >&2; \
	      echo "Install one, or name it: make PYTHON=/path/to/python3.11" >&2; \
	    fi; \
	    exit 2; \
	  fi; \
	  "$$chosen" -m venv --clear $(VENV); \
	fi
	@touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml catmem/__init__.py
	@echo "Installing catmem into $(VENV) ..." >&2
	@$(BIN)/python $(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	@echo "Installing what tests and linters need into $(VENV) ..." >&2
	@$(BIN)/python $(PIP_INSTALL) --editable '.[dev]'
	@touch $@

$(VENV)/.site: $(VENV)/.installed
	@echo "Installing what the site needs into $(VENV) ..." >&2
	@$(BIN)/python $(PIP_INSTALL) --editable '.[site]'
	@touch $@

# Hermes Agent is only measured against, so a machine that cannot have it still gets every other figure.
$(VENV_HERMES)/.tried: $(VENV)/.python pyproject.toml
	@echo "Installing $(HERMES_AGENT) and catmem into $(VENV_HERMES), to test with and measure against ..." >&2
	@$(BIN)/python -m venv --clear $(VENV_HERMES)
	@if $(VENV_HERMES)/bin/python $(PIP_INSTALL) $(HERMES_AGENT) --editable .; then touch $@; else \
	  rm -rf $(VENV_HERMES); \
	  echo "$(HERMES_AGENT) cannot be installed here, so nothing is tested with it or compared." >&2; \
	fi

$(VENV_CHEETAHCLAWS)/.tried: $(VENV)/.python
	@echo "Installing $(CHEETAHCLAWS) into $(VENV_CHEETAHCLAWS), to measure against ..." >&2
	@$(BIN)/python -m venv --clear $(VENV_CHEETAHCLAWS)
	@if $(VENV_CHEETAHCLAWS)/bin/python $(PIP_INSTALL) $(CHEETAHCLAWS); then touch $@; else \
	  rm -rf $(VENV_CHEETAHCLAWS); \
	  echo "$(CHEETAHCLAWS) cannot be installed here, so nothing is compared with it." >&2; \
	fi

IS_NEW := import sys; sys.exit(sys.version_info < (3, 11))
IS_USABLE := import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))
