# `make` alone lists the targets. Each works on a fresh Debian with Python 3.11 or later, as root or not.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run serve ingest test install check bench sample golden lock clean monitor deploy calibrate fuzz audit faults screenshots soak load

bin := .venv/bin
# as the caller's shell gave it: make itself must not read a $ in a path
override LOGS := $(value LOGS)
export LOGS
# as the commands do: its threads spin, two hundred milliseconds in every process that is started
export OPENBLAS_NUM_THREADS ?= 1
# where no time zones are installed, the name would silently mean UTC
tokyo = $(shell [ -e /usr/share/zoneinfo/Asia/Tokyo ] && echo Asia/Tokyo || echo JST-9)

# more than processors: browsers, watchers and sleeping writers leave half of the time of a worker unused
parallel := --numprocesses 3 --dist loadfile --no-loadscope-reorder
# where times are read
zoned = $(wildcard tests/ingest/test_*_collector.py) $(addprefix tests/app/test_,freshness.py words.py) \
	$(addprefix tests/ingest/test_,calendar.py lines.py torchelastic_records.py torchelastic_runs.py) \
	$(addprefix tests/ingest/test_training_log_,hugging_face.py jax.py loops.py megatron.py openings.py \
		reinforcement.py trainers.py vision.py)

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s  %s\n", $$1, $$2 }' Makefile

run: ## set up, sample fleet -> warehouse, dashboard and exporter up; DASHBOARD_PORT=, EXPORTER_PORT= move them
	@tools/install run
	@$(bin)/python -m app.serve --check
	@# the sample tells all of its last day: that day is complete
	@if $(bin)/python -m sample_data.beside run; then \
		if [ -d .sample ]; then tools/sample --if-old-say; else tools/sample; fi; \
		$(bin)/ett-ingest '.sample/*.jsonl' --as-of "$$(date -u -r .sample +%FT00:00:00Z)"; \
	fi
	@exec $(bin)/python -m app.serve

serve: ## dashboard and exporter up on the warehouse as it is, without the sample fleet
	@tools/install run
	@exec $(bin)/python -m app.serve

ingest: ## your dumps -> warehouse: make ingest LOGS="PATH..." (files, folders, globs; quote a space twice: "'a b.log' c")
	@tools/ingest
	@$(bin)/python -m sample_data.beside ingest

# whatever the caller's shell says: each of the processes that tests start would compile everything anew
test: export PYTHONDONTWRITEBYTECODE :=
test: ## set up, then everything that must hold: make check, every test far from UTC, those that read times again in UTC
	@tools/test-programs & tools/install dev && wait
	@# what pytest compiles of the tests each worker would else compile for itself
	@$(bin)/python -m pytest --collect-only -q >/dev/null 2>&1 & $(MAKE) --no-print-directory check && wait
	@# in UTC a local time that is taken for one of UTC, or the other way round, would pass
	TZ=$(tokyo) $(bin)/python -m pytest $(parallel)
	TZ=UTC $(bin)/python -m pytest -q $(parallel) -m "not (slow or browser or prometheus or real)" $(zoned)

install: ## .venv with the locked packages and the ett-* commands; at once where that is already so
	@tools/install run

check: ## what needs no test run: ruff (style and security), mypy, sqlfluff, import-linter
	@tools/install dev
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/lint-imports
	$(bin)/mypy ingest queries app commands sample_data deploy bench & types=$$!; \
	$(bin)/sqlfluff lint --disable-progress-bar --processes 0 queries || lint=$$?; \
	wait $$types && exit $${lint:-0}

audit: ## known faults of the locked packages; says so, and fails, where the service that knows them cannot be reached
	@tools/install dev
	@$(bin)/python tools/audit

fuzz: ## break dumps, settings and addresses for a while: make fuzz MINUTES=5; what crashed is kept in .fuzz
	@tools/install dev
	$(bin)/python -m tests.fuzz --minutes $(or $(MINUTES),5)

monitor: ## Prometheus and Alertmanager against the exporter, with the rules under deploy/; Ctrl-C stops both
	@tools/install dev
	@tools/monitor

deploy: ## write the files under deploy/ that Prometheus, Alertmanager and Grafana load
	@tools/install dev
	@$(bin)/python -m deploy

bench: ## measure ingest, causes and detection on this machine
	@tools/install dev
	$(bin)/python -m bench

soak: ## 20 sessions that click while the sample fleet is published every 15 s: make soak MINUTES=20
	@tools/install dev
	$(bin)/python -m bench.sessions --minutes "$(or $(MINUTES),20)"

load: ## 50 sessions and 20 scrapes a second while a million events a minute are ingested, then without: make load MINUTES=10
	@tools/install dev
	$(bin)/python -m bench.load --minutes "$(or $(MINUTES),10)"

calibrate: ## set the detector's thresholds anew by replaying fleets in which nothing changes; read their difference before you keep it
	@tools/install dev
	$(bin)/python -m bench.calibrate

faults: ## kill -9 and full disks at random points, long; KILLS=500 FULL=100 (full disks need root); a short run is in make test
	@tools/install dev
	$(bin)/python -m tests.faults --kills $(or $(KILLS),500) --full $(or $(FULL),100)

sample: ## the sample fleet anew, ending yesterday (UTC), into .sample
	@tools/install run
	@tools/sample

golden: ## write the golden files of the tests anew; read their difference before you keep it
	@tools/install dev
	$(bin)/python -m pytest -q -m golden --update-golden

screenshots: ## the pictures of the README anew, from the sample fleet of a fixed day
	@tools/install dev
	@tools/test-programs
	@$(bin)/python -m tests.browser.screenshots

lock: ## resolve pyproject.toml into the two locks anew
	@tools/lock

clean: ## remove what make made, but never the warehouse
	rm -rf .venv .sample .sample.part .monitor .fuzz build tests/browser/node_modules ./*.egg-info .*_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
