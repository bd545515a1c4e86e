# Every target sets up .venv in this folder by itself, once; `make clean` removes it and what the demo made.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Building an editable package warns about folders named like packages; there are none.
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check
export TF_CPP_MIN_LOG_LEVEL ?= 2

.PHONY: help demo test test-slow faults browser golden mutants parity tpu tpu-slow bench bench-gpu docs dist lint types format clean

help:
	@echo "make demo       train, evaluate and export a small ALBERT (DEMO=short: a little text, 3 minutes)"
	@echo "make test       the tests; test-slow: those that take minutes; faults: those that kill and fill disks"
	@echo "make golden     run the commands on a made-up text: records, losses and outputs are what they were (4 minutes on a free core)"
	@echo "make mutants    put faults into the code, one at a time, and see whether the tests notice (20 minutes)"
	@echo "make browser    the server's page, and exports in a page, in a headless Chromium, where one is installed"
	@echo "make parity     compare with Hugging Face transformers and KerasHub"
	@echo "make tpu        compile steps for TPUs that are not there, and look at the programs; tpu-slow: all sizes (hours)"
	@echo "make bench      time data creation, input, training and inference, alone and beside peers (hours; tables in bench.md)"
	@echo "make bench-gpu  the JAX engine beside peers on a GPU of NVIDIA"
	@echo "make docs       the documents and a reference of the Python names as a site in docs/_build, every link checked"
	@echo "make dist       wheel and sdist in dist/, checked"
	@echo "make lint       ruff; format: let ruff mend what it can"
	@echo "make types      mypy, strict, on the public names and on a program that uses them"
	@echo "make clean      remove .venv, caches, demo_output, docs/_build and bench.md"

$(VENV)/.dev: setup.py
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14) and \
	  "Python %d.%d: TensorFlow 2.21 needs one of 3.10 to 3.13 (make PYTHON=python3.13 ...)" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) --editable '.[dev]'
	$(BIN)/python -m compileall -q -j 0 albert_tf data_prep
	touch $@

$(VENV)/.parity: $(VENV)/.dev
	$(PIP) --editable '.[dev,parity]'
	touch $@

$(VENV)/.tpu: $(VENV)/.parity
	$(PIP) --editable '.[dev,parity,tpu]'
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) --editable '.[dev,docs]'
	touch $@

# Without npm or a network the tests of the page that needs them are left out, and say so.
$(VENV)/.browser: $(VENV)/.dev examples/browser/package.json examples/browser/package-lock.json
	$(PIP) --editable '.[dev,onnx]'
	if npm ci --prefix examples/browser --no-audit --no-fund --loglevel=error; then touch $@; else \
	  echo "examples/browser/lib could not be filled: npm is missing, or did not reach its registry"; fi

# DEMO=short for the short form; DEMO_STEPS=N to train for N steps.
demo: export DEMO_STARTED := $(shell date +%s)
demo: $(VENV)/.dev
	PATH="$(CURDIR)/$(BIN):$$PATH" demo/run_demo.sh

# BENCH_TABLE=FILE for where the tables beside peers are kept.
BENCH_TABLE ?= bench.md

# Two processes: most of a test's time is tracing, which uses one core.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-slow: $(VENV)/.parity
	$(BIN)/python -m pytest -m 'slow and not tpu' -n 2 --dist loadfile

faults: $(VENV)/.dev
	$(BIN)/python -m pytest -m faults -n 2

browser: $(VENV)/.browser
	$(BIN)/python -m pytest -m browser

golden: $(VENV)/.dev
	$(BIN)/python -m pytest -m golden tests/golden tests/albert_tf/pretraining tests/albert_tf/door_test.py

# MUTANTS="words" for those whose names or files have one of them; see docs/mutants.md.
mutants: $(VENV)/.dev
	$(BIN)/python tests/mutants/run_mutants.py $(MUTANTS)

parity: $(VENV)/.parity
	$(BIN)/python -m pytest -m 'parity and not slow' -n 2 --dist loadfile

tpu: $(VENV)/.tpu
	$(BIN)/python -m pytest -m 'tpu and not slow'

# Every kind of step of every published size, on four topologies: some hours.
tpu-slow: $(VENV)/.tpu
	$(BIN)/python -m pytest -m 'tpu and slow'

bench: $(VENV)/.parity
	$(BIN)/python -m albert_tf.benchmarks.data_creation
	set -e; for masking in static dynamic; do $(BIN)/python -m albert_tf.benchmarks.input_pipeline --masking=$$masking; done
	$(BIN)/python -m albert_tf.benchmarks.train_step --albert_config_file=configs/models/albert_mini.json
	$(BIN)/python -m albert_tf.benchmarks.train_step --albert_config_file=configs/models/albert_base_v2.json
	$(BIN)/python -m albert_tf.benchmarks.inference --albert_config_file=configs/models/albert_base_v2.json
	set -e; for longest in 16 100; do $(BIN)/python -m albert_tf.benchmarks.predicting --longest=$$longest; done
	set -e; for precision in float32 bfloat16; do \
	  peers="$(BIN)/python -m albert_tf.benchmarks.compare_peers --output_file=$(BENCH_TABLE) --precision=$$precision"; \
	  $$peers --steps=2; \
	  $$peers --max_seq_length=512 --batch_size=4 --steps=2 --rounds=5; \
	  $$peers --optimizer=lamb --contestants=albert_tf,keras_hub --steps=2 --rounds=5; \
	  $$peers --task=encode --batch_size=1 --steps=20; \
	  $$peers --task=encode --batch_size=32; \
	  $$peers --task=encode --batch_size=32 --shortest=8; \
	  $$peers --task=classify --batch_size=1 --steps=20; \
	  $$peers --task=classify --batch_size=32; \
	  $$peers --task=classify --batch_size=32 --shortest=8; \
	done
	set -e; for task in encode classify; do \
	  $(BIN)/python -m albert_tf.benchmarks.compare_serving --task=$$task --output_file=$(BENCH_TABLE); \
	done
	$(BIN)/python -m albert_tf.benchmarks.export_table --output_file=$(BENCH_TABLE)
	$(BIN)/python -m albert_tf.benchmarks.compare_models --output_file=$(BENCH_TABLE)

# On a machine with a GPU of NVIDIA, of 80 GB: docs/benchmarks/2026-11-26-h100.md.
bench-gpu: $(VENV)/.parity
	$(PIP) 'jax[cuda13]'
	set -e; for shape in "base 128 128 20" "base 32 512 76" "large 128 128 20" "large 32 512 76" "xxlarge 64 128 20" \
	  "xxlarge 16 512 76"; do \
	  set -- $$shape; $(BIN)/python -m albert_tf.benchmarks.compare_peers --output_file=$(BENCH_TABLE) \
	    --albert_config_file=albert_$$1_v2 --precision=bfloat16 --batch_size=$$2 --max_seq_length=$$3 \
	    --max_predictions_per_seq=$$4 --steps=8 --rounds=5 --prepare_together \
	    --contestants=albert_tf_jax,hugging_face,hugging_face_compiled; \
	done

# DOCS_SOURCE_URL=https://github.com/OWNER/albert_tf/blob/main for links to files that are no pages.
# From nothing each time: Sphinx does not repeat the warnings of pages that stayed as they were.
docs: $(VENV)/.docs
	rm -rf docs/_build
	$(BIN)/python -m sphinx -q -W --keep-going -c docs . docs/_build
	@echo "docs/_build/index.html"

dist: $(VENV)/.dev
	rm -rf dist build
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/twine check --strict dist/*
	rm -rf build

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) *.egg-info build dist .mypy_cache .pytest_cache .ruff_cache demo_output docs/_build bench.md \
	  examples/browser/lib examples/browser/node_modules
