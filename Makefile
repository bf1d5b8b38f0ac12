# Everything a person or CI does with this clone. Each target sets up what it needs; `make` alone lists them.

PORT ?= 8000
export PORT

PY := .venv/bin/python
PACKAGES := analysis annotation judging reporting config tandem
CHECKED := $(PACKAGES) bench examples tests tools manage.py

.DEFAULT_GOAL := help
.PHONY: help demo run install test test-fast test-all test-models test-llm check-published coverage lint format types migrations-check messages messages-check docs lock lock-check bench bench-separability bench-analysis bench-coverage bench-active bench-answers bench-rating bench-serving bench-judging bench-logic bench-load bench-export bench-imports stress faults hosts fuzz mutants lint-deploy image-check scan ci screenshots clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' Makefile

demo: ## set up, load the example study and serve it on PORT (8000); Ctrl-C stops it, data stay in var/
	@exec sh tools/demo.sh

run: ## serve the database of DATABASE_URL on PORT, without example data
	@exec sh tools/run.sh

install: ## make .venv with the locked packages that running needs; EXTRAS="metrics entities excel mturk parquet redis" adds some of these
	@sh tools/venv.sh base $(EXTRAS)

test: ## run the tests on SQLite and those that depend on the engine on PostgreSQL, after installing what they need
	@exec sh tools/test.sh

test-fast: ## run the quick tests on SQLite, without a browser, while working (a minute)
	@exec sh tools/test.sh --fast

test-all: ## run every test on SQLite and every database test on PostgreSQL too
	@exec sh tools/test.sh --all

test-models: ## compare our encoder, embeddings and entities with published figures, over the real small models (100 MB), and models that PyTorch runs (1 GB)
	@exec sh tools/test_models.sh

test-llm: ## run every judging method over a real small language model on this machine (minutes; 130 MB the first time)
	@exec sh tools/test_llm.sh

check-published: .venv/dev ## take published studies from their files to findings: SEPARABILITY=FOLDER, LLMFAO=FOLDER, ALPACA_EVAL=FOLDER (minutes)
	$(PY) tools/check_published.py $(if $(SEPARABILITY),"separability=$(SEPARABILITY)") $(if $(LLMFAO),"llmfao=$(LLMFAO)") $(if $(ALPACA_EVAL),"alpaca_eval=$(ALPACA_EVAL)")

coverage: ## run every test on SQLite and report the lines and branches that they take, in var/coverage/ too
	@exec sh tools/coverage.sh

lint: .venv/dev ## check the style of Python and of templates, and which room imports which
	$(PY) -m ruff check $(wildcard $(CHECKED))
	$(PY) -m ruff format --check $(wildcard $(CHECKED))
	$(PY) -m djlint templates --lint --check --quiet
	.venv/bin/lint-imports --no-logo --no-cache

format: .venv/dev ## rewrite Python and templates in the style that `make lint` checks
	$(PY) -m ruff check --fix-only --quiet $(wildcard $(CHECKED))
	$(PY) -m ruff format $(wildcard $(CHECKED))
	$(PY) -m djlint templates --reformat --quiet

types: .venv/dev ## check the types with mypy
	$(PY) -m mypy $(PACKAGES)

migrations-check: .venv/dev ## fail when a model has changed without a migration
	$(PY) manage.py makemigrations --check --dry-run

messages: .venv/dev ## collect the texts of the pages, update the translations in locale/ and compile them
	$(PY) tools/messages.py

messages-check: .venv/dev ## fail when a translation is missing, uncertain, wrong or not compiled
	$(PY) tools/messages.py --check

docs: ## make the site of the documentation in var/docs/html, and fail when a link leads nowhere
	@sh tools/venv.sh base docs
	$(PY) tools/docs.py

lock: .venv/dev ## write requirements/*.txt from pyproject.toml, keeping locked versions where it can
	@sh tools/lock.sh

lock-check: .venv/dev ## fail when requirements/*.txt do not match pyproject.toml (asks the package index)
	@sh tools/lock.sh --check

bench: .venv/dev ## time our measures against the reference implementations, in one run
	$(PY) -m bench separability

bench-separability: .venv/dev ## time the similarities of all pairs of generations against the field's libraries, and whole studies (half an hour)
	$(PY) -m bench separability
	$(PY) -m bench separability_scale

bench-analysis: .venv/dev ## time rating sets, Bradley-Terry and Elo at a million rows beside pandas and FastChat's ways, and the findings of such a study (three minutes)
	$(PY) -m bench analysis

bench-coverage: .venv/dev ## simulate 2,000 studies for each of 880 cases and count how often intervals hold the true value (half an hour on busy cores)
	$(PY) -m bench coverage

bench-active: .venv/dev ## hide people's votes of LLMFAO=FOLDER, SEPARABILITY=FOLDER, PANDALM=FOLDER and buy some back with judges' help (half an hour)
	LLMFAO="$(LLMFAO)" SEPARABILITY="$(SEPARABILITY)" PANDALM="$(PANDALM)" $(PY) -m bench active

bench-answers: .venv/dev ## simulate 200 to 2,000 studies with nothing to claim for each case and count what sentences claim (half an hour on one idle core)
	$(PY) -m bench answers

bench-rating: .venv/dev ## time the rating pages with 50 raters at work, on SQLite and PostgreSQL (ten minutes)
	$(PY) -m bench rating

bench-serving: .venv/dev ## time claims and votes at up to a million pairs beside a bare view, on SQLite and PostgreSQL (twenty minutes)
	$(PY) -m bench serving

bench-judging: .venv/dev ## time judges' runs against a stand-in at 500 ms a call, on SQLite and PostgreSQL (half an hour)
	$(PY) -m bench judging

bench-logic: .venv/dev ## time transitivity beside a search for cycles in sampled sets, and the repair of a million preferences (a minute)
	$(PY) -m bench logic

bench-load: .venv/dev ## rate with 500 raters at once on PostgreSQL, beside a bare view (three minutes; BENCH_SECONDS=600 for a soak)
	$(PY) -m bench load

bench-export: .venv/dev ## time exports of a million ratings beside the bare rows, and a bundle of 100,000 with its verification (five minutes)
	$(PY) -m bench export

bench-imports: .venv/dev ## time imports of up to 100,000 ratings, and votes meanwhile, beside reading and executemany (five minutes)
	$(PY) -m bench imports

stress: .venv/dev ## let 50 raters hammer one batch while servers are killed, on SQLite and PostgreSQL (minutes)
	$(PY) -m tests.stress

faults: ## let raters, judges and a researcher work while processes and database are killed, the disk fills and the clock jumps (as root, on Linux; a quarter of an hour)
	@exec sh tools/faults.sh

hosts: .venv/dev ## let two worker hosts share a judge's run, and lose each (as root, on Linux; minutes)
	$(PY) -m tests.hosts

fuzz: ## send generated requests to the API as every role, and put hostile texts into every field and page (minutes)
	@exec sh tools/fuzz.sh

mutants: .venv/dev ## change the measures and the allocation of HITs at 400 drawn places, and see whether a test fails (an hour and more)
	$(PY) tools/mutants.py

lint-deploy: .venv/dev ## lint Dockerfile and compose.yaml, and have Caddy and nginx read their files and meet slow connections (as root, on Debian; two minutes)
	@exec sh tools/lint_deploy.sh

image-check: .venv/dev ## take the Dockerfile's steps without a container engine, weigh and start the result (as root, with mmdebstrap)
	$(PY) tools/image_check.py

scan: .venv/dev ## look for known vulnerabilities in the locked packages, and for secrets in the files (asks the package index)
	@exec sh tools/scan.sh

ci: lint types migrations-check test ## everything that must hold before a change is taken

screenshots: .venv/dev ## take the pictures in docs/images again
	$(PY) tools/screenshots.py

clean: ## remove .venv and the caches; data in var/ stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The script decides whether there is anything to do, so this target always runs it.
.PHONY: .venv/dev
.venv/dev:
	@sh tools/venv.sh dev
