# make demo   own environment, install, run the main job on the CPU and print a table
# make test   own environment, install with the test extra, lint, types, tests
# make fuzz   random calls and changed files, and the C interface under sanitizers, 30 seconds each
# make kernels    compiles our CUDA kernels into the wheel shim-torch-kernels, in dist/; needs no GPU
# make sanitize   the tests (or TESTS=...) on a core built with AddressSanitizer and UndefinedBehaviorSanitizer
# make sanitize-threads   programs of threads on a core built with ThreadSanitizer
# make stress   long programs: threads, leaks, large graphs, forks, SIGINT, equal bits; SCALE=0.1 runs a tenth
# make test-tritons   the Triton adapter's tests with each older Triton it supports
# make regenerate   writes the tables and expected values that come from PyTorch
# make test-reference   compares with a real PyTorch, in an environment of its own
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test fuzz kernels sanitize sanitize-threads stress similarity regenerate lint install install-test test-reference test-tritons clean

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

# $(call installed,EXTRA): the core is compiled while what it needs at run time is fetched; pip by itself does one after the other.
# The environment that it is built in is thrown away: no bytecode is made for that (PIP_COMPILE).
WHEELS := build/wheels-of-make
define installed
	rm -rf $(WHEELS) && mkdir -p $(WHEELS)
	$(BIN)/python .ci/requirements.py $(1) > $(WHEELS)/requirements.txt
	$(BIN)/python -m pip install -q -r $(WHEELS)/requirements.txt & fetching=$$!; \
		PIP_COMPILE=0 $(BIN)/python -m pip wheel -q --no-deps -w $(WHEELS) . && wait $$fetching
	$(BIN)/python -m pip install -q --force-reinstall --no-deps $(WHEELS)/*.whl
	test -s $(WHEELS)/requirements.txt || $(BIN)/python -m pip install -q "$$(echo $(WHEELS)/*.whl)$(if $(1),[$(1)])"
endef

install: $(VENV)/.made
	$(call installed,)

# Once for all targets that need it: pip would build the core anew each time, for minutes.
SOURCES := $(shell find CMakeLists.txt pyproject.toml compat native shim_torch shim_torch_linear shim_torch_proxy -type f ! -name '*.pyc' ! -name '*.so*')

install-test: $(VENV)/.installed

$(VENV)/.installed: $(VENV)/.made $(SOURCES)
	$(call installed,test)
	$(BIN)/python -m pip install -q --no-deps liger-kernel==0.8.5 conch-triton-kernels==1.3 triton-kernels==0.1.0
	$(BIN)/python -m pip install -q --no-deps torchvision==0.29.2 torchaudio==2.11.0 torchcodec==0.17.0 pillow \
		nvidia-cuda-runtime==13.5.37 nvidia-cuda-nvrtc==13.5.37 \
		torchao==0.18.0 xformers==0.0.35 nvidia-cuda-runtime-cu12==12.9.79 || echo "no wheels of PyTorch's libraries for this system"
	touch $@

demo: install-test
	cd examples && for job in triton_kernels liger_kernels liger_training; do ../$(BIN)/python $$job.py || exit 1; echo; done

lint: install-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --quiet --check .
	find native tests -name '*.cpp' -o -name '*.h' -o -name '*.c' -o -name '*.cu' -o -name '*.cuh' | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/mypy

test: lint
	cd tests && ../$(BIN)/python -m pytest -q -n 2 --dist worksteal -p no:cacheprovider .

# Kernels over rows, then random schemas, stacks and lifetimes through the stable C ABI, under AddressSanitizer and UndefinedBehaviorSanitizer.
# Then the installed package, through calls made from schemas and through changed files (docs/security.md).
fuzz: install-test
	tests/abi/fuzz/run.sh 30
	cd tests && ../$(BIN)/python fuzz/calls.py --seconds 30
	cd tests && ../$(BIN)/python fuzz/files.py --seconds 30

# What programs ask for (shim_torch/_impl/data/kernels.txt), for each architecture that NVRTC knows of those of tools/kernel_pack.py.
kernels: install-test
	$(BIN)/python tools/kernel_pack.py pack distributions/kernels/shim_torch_kernels/kernels.pack
	$(BIN)/python -m pip wheel -q --no-deps --no-build-isolation -w dist distributions/kernels
	@ls -l dist/shim_torch_kernels-*.whl

# In the tree, where it takes the development build's place. One worker: a finding ends its process, and the next test gets another.
TESTS ?= .
sanitize: install-test
	$(BIN)/python -m pip install -q cmake ninja
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DCMAKE_BUILD_TYPE=Dev \
		-DSHIM_SANITIZE=address -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python > /dev/null
	$(BIN)/cmake --build build/sanitize
	cd tests && PYTHONPATH=.. ../.ci/sanitized ../$(BIN)/python -m pytest -q -n 1 -p no:cacheprovider $(TESTS)

# Forks are left out: ThreadSanitizer ends a child that starts threads. race.py has a race, which is to be reported (status 66).
sanitize-threads: install-test
	$(BIN)/python -m pip install -q cmake ninja
	$(BIN)/cmake -S . -B build/sanitize-threads -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DCMAKE_BUILD_TYPE=Release \
		-DSHIM_IN_TREE=ON -DSHIM_SANITIZE=thread -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python > /dev/null
	$(BIN)/cmake --build build/sanitize-threads
	.ci/sanitized-threads $(BIN)/python tests/stress/race.py > build/race.log 2>&1; test $$? = 66
	.ci/sanitized-threads $(BIN)/python tests/stress/threads.py --scale 0.02
	.ci/sanitized-threads $(BIN)/python tests/stress/equal.py
	.ci/sanitized-threads $(BIN)/python tests/stress/graphs.py --scale 0.005
	.ci/sanitized-threads $(BIN)/python tests/stress/processes.py --scale 0.02 --only SIGINT

# Long programs, no part of `make test`. What they printed once is benchmarks/results/stress.txt.
SCALE ?= 1
stress: install-test
	status=0; for program in threads leaks graphs processes equal; do \
		$(BIN)/python tests/stress/$$program.py --scale $(SCALE) || status=1; done; exit $$status

# Another environment, with PyTorch (its CPU build), answers the cases; this one, without it, is compared with the answers.
REFERENCE := .venv-reference
ANSWERS := build/reference-answers

$(REFERENCE)/.made:
	$(PYTHON) -m venv $(REFERENCE)
	$(REFERENCE)/bin/python -m pip install -q numpy expecttest pybind11 ninja setuptools
	$(REFERENCE)/bin/python -m pip install -q --index-url https://download.pytorch.org/whl/cpu torch==2.13.0 \
		|| $(REFERENCE)/bin/python -m pip install -q torch==2.13.0
	touch $@

# Our bodies beside those of the libraries whose interface is ours, or that we run: written, not retyped.
SITE = $(wildcard $(1)/lib/python3.*/site-packages/$(2))
similarity: install-test $(REFERENCE)/.made
	$(BIN)/python tools/similarity.py --listed tests/provenance.txt $(call SITE,$(REFERENCE),torch) \
		$(call SITE,$(VENV),triton) $(call SITE,$(VENV),liger_kernel) $(call SITE,$(VENV),cupy)

# Tables and expected values that come from PyTorch: `make regenerate` writes them.
REGENERATE = $(REFERENCE)/bin/python tools/regenerate.py --ours $(BIN)/python
regenerate: install-test $(REFERENCE)/.made
	$(REGENERATE)

test-reference: install-test $(REFERENCE)/.made similarity
	$(REGENERATE) --check
	$(REFERENCE)/bin/python tests/reference/_peer.py $(ANSWERS)
	$(REFERENCE)/bin/python tests/reference/stable_abi/build.py $(ANSWERS)
	PATH=$(CURDIR)/$(REFERENCE)/bin:$$PATH $(REFERENCE)/bin/python tests/cpp_extensions/program.py $(ANSWERS)/cpp_extensions > $(ANSWERS)/cpp_extensions.txt
	diff $(ANSWERS)/cpp_extensions.txt tests/cpp_extensions/program.txt
	cd tests && SHIM_TORCH_REFERENCE_ANSWERS=$(CURDIR)/$(ANSWERS) SHIM_TORCH_REFERENCE_PYTHON=$(CURDIR)/$(REFERENCE)/bin/python ../$(BIN)/python -m pytest -q -n 2 -p no:cacheprovider reference

TRITONS := 3.4.0 3.5.1 3.6.0 3.7.1 3.8.0

test-tritons: install-test
	for version in $(TRITONS); do \
		$(BIN)/python -m pip install -q --no-deps --upgrade --target build/triton-$$version triton==$$version || exit 1; \
		(cd tests && PYTHONPATH=../build/triton-$$version ../$(BIN)/python -m pytest -q -p no:cacheprovider compat/adapters native/test_triton_dispatch.py) || exit 1; \
	done

clean:
	rm -rf build dist $(VENV) .venv-*
