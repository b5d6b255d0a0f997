"""Where a machine keeps the CUDA libraries that the carried programs link."""
import dataclasses
import glob
import os
import site
import sys

# Compiled with CUDA 13: its minor versions are compatible, its major version is in the names.
NEEDED = ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libnccl.so.2")


@dataclasses.dataclass
class Found:
    folders: list  # for LD_LIBRARY_PATH, in order
    paths: dict  # by library
    missing: list
    searched: list

    def message(self):
        return (f"{', '.join(self.missing)} not found. The programs need the libraries of CUDA 13 and NCCL, from a toolkit "
                "or from Python wheels (nvidia-cuda-runtime, nvidia-cublas, nvidia-nccl-cu13): install them, or name their "
                f"folders in LD_LIBRARY_PATH. Looked in {', '.join(self.searched)}")


def candidates():
    """Folders to look in: what the user names, the wheels beside PyTorch (so that both use one cuBLAS), toolkits."""
    yield from filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    packages = [*sys.path, *site.getsitepackages(), site.getusersitepackages()]
    for folder in dict.fromkeys(filter(None, packages)):
        yield from sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib")))
        yield from sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib64")))
    toolkits = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-13*")), "/opt/cuda"]
    for toolkit in dict.fromkeys(filter(None, toolkits)):
        yield os.path.join(toolkit, "lib64")
        yield os.path.join(toolkit, "targets", "x86_64-linux", "lib")
    yield from ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")


def find():
    folders, paths, searched = [], {}, []
    for folder in candidates():
        if folder in searched or not os.path.isdir(folder):
            continue
        searched.append(folder)
        new = [name for name in NEEDED if name not in paths and os.path.exists(os.path.join(folder, name))]
        paths.update({name: os.path.realpath(os.path.join(folder, name)) for name in new})
        if new:
            folders.append(folder)
    return Found(folders, paths, [name for name in NEEDED if name not in paths], searched)
