"""Kernels compile where nothing can be kept on disk, too."""

from command_line import python


def test_kernels_compile_without_a_place_for_the_cache():
    # code that is in no file has no place for a cache: Numba itself refuses it
    program = (
        "from numba import njit\n"
        "from incrowd.compiling import compiled\n"
        "def double(number):\n"
        "    return 2 * number\n"
        "try:\n"
        "    njit(cache=True)(double)\n"
        "except RuntimeError:\n"
        "    assert compiled(double)(21) == 42\n"
        "    print('compiled')\n"
    )
    finished = python("-c", program)
    assert finished.status == 0, finished.err
    assert finished.out.strip() == "compiled"
