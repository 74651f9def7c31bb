"""Kernels run from the library that was built ahead, and by Numba where it does not fit."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd
from command_line import python
from incrowd.compiling import library as libraries
from incrowd.compiling.build import groups, is_current
from incrowd.compiling.kernel import KERNELS
from incrowd.compiling.library import digest_of, library
from incrowd.compiling.signatures import describe, examples, listed
from incrowd.engines.spark.session import write_package

needs_library = pytest.mark.skipif(library() is None, reason="no library is built here")

SORT = """
import json, logging, sys
messages = []
class Keep(logging.Handler):
    def emit(self, record):
        messages.append(record.getMessage())
logging.getLogger("incrowd").addHandler(Keep())
logging.getLogger("incrowd").setLevel(logging.INFO)
import numpy as np
from incrowd.compiling import kernels_used
from incrowd.kernels.sorting import shell_sort
numbers = np.array([3, 1, 2], dtype=sys.argv[1])
shell_sort(numbers, 3)
assert numbers.tolist() == [1, 2, 3]
print(json.dumps({"used": kernels_used(), "numba": "numba" in sys.modules, "said": messages}))
"""


def sort(dtype="int64", **env):
    finished = python("-c", SORT, dtype, env=env)
    assert finished.status == 0, finished.err
    return json.loads(finished.out)


# Signatures as text.


class Pair(NamedTuple):
    """A named tuple of this module."""

    numbers: np.ndarray
    total: int


def test_types_read_as_numpy_writes_them():
    rows = np.zeros((4, 3), dtype=np.int32)
    arguments = (rows, rows.T, rows[::2], 3, 2.5, True, None, np.float32(1))
    assert describe(arguments) == (
        "int32[:, ::1], int32[::1, :], int32[:, :], int64, float64, bool, none, float32"
    )
    assert describe([(1, (2.5,))]) == "(int64, (float64,),)"
    assert describe([Pair(rows[0], 2)]).endswith("test_library.Pair(int32[::1], int64)")


@pytest.mark.parametrize(
    "value",
    [
        2**63,
        "text",
        np.zeros(2, dtype=">i8"),
        np.zeros(2, dtype=complex),
        np.zeros(2, dtype=[("a", "i4"), ("b", "i8")]),
        np.frombuffer(bytearray(9), dtype=np.int64, count=1, offset=1),
    ],
    ids=["huge", "text", "foreign byte order", "complex", "records", "unaligned"],
)
def test_what_no_library_takes_is_told_apart(value):
    assert "?" in describe([value])


types = st.recursive(
    st.sampled_from(["int64", "float64", "bool", "none", "uint8"])
    | st.builds(
        "{}[{}]".format,
        st.sampled_from(["int32", "float64", "bool", "uint16"]),
        st.sampled_from([":", "::1", ":, :", ":, ::1", "::1, :", ":, :, ::1"]),
    ),
    lambda part: st.lists(part, min_size=1, max_size=3).map(lambda of: f"({', '.join(of)},)"),
    max_leaves=6,
)


@given(st.lists(types, max_size=5))
def test_examples_have_the_signature_they_are_made_from(parts):
    signature = ", ".join(parts)
    assert describe(examples(signature)) == signature


def test_what_is_listed_exists_and_can_be_made():
    from importlib import import_module

    for name, signatures in listed().items():
        import_module(name.partition(":")[0])
        n_parameters = KERNELS[name].n_parameters
        for signature in signatures:
            made = examples(signature)
            assert describe(made) == signature
            assert len(made) == n_parameters, name


# The library.


@needs_library
def test_the_library_is_complete_and_current():
    objects = Path(libraries.__file__).with_name(libraries.FOLDER) / "objects"
    stale = [
        name
        for name, kernels in groups().items()
        if not is_current(objects / f"{name}.json", kernels)
    ]
    assert stale == []
    built = library().manifest["kernels"]
    assert {name: sorted(symbols) for name, (_, symbols) in built.items()} == listed()


@needs_library
def test_built_kernels_need_no_numba():
    assert sort() == {"used": "built ahead", "numba": False, "said": []}


@needs_library
def test_a_signature_that_is_not_built_is_compiled_and_announced():
    ran = sort("uint32", INCROWD_RECORD_KERNELS="")
    assert ran["used"] == "compiled by Numba"
    assert ran["numba"]


def test_numba_compiles_everything_on_request():
    assert sort(INCROWD_KERNELS="jit")["used"] == "compiled by Numba"


@needs_library
def test_calls_by_name_and_defaults_are_the_same_call():
    from incrowd.kernels.sorting import shell_sort

    numbers = np.array([3, 1, 2])
    shell_sort(numbers, **{shell_sort.py_func.__code__.co_varnames[1]: 3})
    assert numbers.tolist() == [1, 2, 3]
    with pytest.raises(TypeError):
        shell_sort(numbers)


def test_arrays_that_are_only_read_are_copied():
    """A kernel writes to none of them: their memory may be a file's, or another program's."""
    from incrowd.kernels.sorting import shell_sort

    numbers = np.array([3, 1, 2])
    numbers.flags.writeable = False
    shell_sort(numbers, 3)
    assert numbers.tolist() == [3, 1, 2]


@pytest.fixture
def package(tmp_path):
    """A copy of the package, its library included, that a test may change."""
    copy = tmp_path / "site" / "incrowd"
    ignored = shutil.ignore_patterns("__pycache__", "objects")
    shutil.copytree(Path(incrowd.__file__).parent, copy, ignore=ignored)
    return copy


@needs_library
def test_a_changed_source_is_compiled_anew(package):
    env = {"PYTHONPATH": str(package.parent)}
    assert sort(**env)["used"] == "built ahead"
    source = package / "kernels" / "sorting.py"
    source.write_text(source.read_text("utf-8") + "\n# changed\n", encoding="utf-8")
    ran = sort(**env)
    assert ran["used"] == "compiled by Numba"
    assert "kernels/sorting.py changed" in ran["said"][0]


@needs_library
@pytest.mark.parametrize("damage", ["no library", "no manifest", "cut", "another processor"])
def test_a_library_that_does_not_fit_is_left_alone(package, damage):
    built = package / "compiling" / libraries.FOLDER
    manifest = built / libraries.MANIFEST
    found = json.loads(manifest.read_text("utf-8"))
    if damage == "no library":
        (built / found["file"]).unlink()
    elif damage == "no manifest":
        manifest.write_text("{", encoding="utf-8")
    elif damage == "cut":
        (built / found["file"]).write_bytes(b"\x7fELF")
    else:
        code = package / "compiling" / "library.py"
        code.write_text(code.read_text("utf-8").replace('"POPCNT"', '"QUANTUM"'), encoding="utf-8")
    assert sort(PYTHONPATH=str(package.parent))["used"] == "compiled by Numba"


@needs_library
def test_workers_load_the_library_from_the_package_they_are_sent(tmp_path):
    assert sort(PYTHONPATH=str(write_package(tmp_path))) == {
        "used": "built ahead",
        "numba": False,
        "said": [],
    }


def test_digests_are_of_bytes():
    import hashlib

    source = Path(incrowd.__file__).read_bytes()
    assert digest_of("__init__.py") == hashlib.sha256(source).hexdigest()
    assert digest_of("no/such/file.py") == ""


@needs_library
def test_a_library_that_is_current_is_not_built_again(tmp_path):
    built = Path(libraries.__file__).with_name(libraries.FOLDER)
    shutil.copytree(built, tmp_path / "built")
    command = ("-m", "incrowd.compiling.build", "--to", str(tmp_path / "built"))
    before = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "built").rglob("*"))
    first = python(*command)
    assert (first.status, first.out + first.err) == (0, "")
    assert before == sorted(
        (path, path.stat().st_mtime_ns) for path in (tmp_path / "built").rglob("*")
    )
    (tmp_path / "built" / library().manifest["file"]).unlink()
    second = python(*command)
    assert second.status == 0, second.err
    assert len(list((tmp_path / "built").glob(f"kernels-*{libraries.SUFFIX}"))) == 1
