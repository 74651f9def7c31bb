.PHONY: help demo test test-all docs lint format clean
.DEFAULT_GOAL := help

help:  ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo:  ## Set up and anonymize the embedded sample
	./dev demo --force

test:  ## Set up and run the fast tests
	./dev test

test-all:  ## Set up and run all tests
	./dev test --all

docs:  ## Build the site of the docs into site/
	./dev docs

lint:  ## Formatting, lint, types and import contracts
	./dev lint

format:  ## Format the code
	./dev setup
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

clean:  ## Remove everything that these commands made
	./dev clean
