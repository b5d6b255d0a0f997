#!/usr/bin/env bash
# Builds what a machine with an NVIDIA GPU is to run and packs it into one folder, with every library that such a machine
# need not have: it has python3, a driver, the libraries of CUDA 13 and NCCL (of a toolkit or of PyTorch's wheels), a glibc
# no older than ours and a processor with AVX2. Needs nvcc here, and no GPU.
#
#   tests/gpu_session/carry.sh [--out DIR] [--jobs N]     # DIR: build/gpu_carried
#
# Then, on that machine, in a copy of the folder: ./session.sh A
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
build=$root/build/carry
out=$root/build/gpu_carried
jobs=$(nproc)
readonly limit_mib=56  # such a machine takes 64 at once, and our sources may travel too

say() { printf 'carry.sh: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$(readlink -m "${2:?carry.sh: --out needs a folder}"); shift 2 ;;
    --jobs) jobs=${2:?carry.sh: --jobs needs a number}; shift 2 ;;
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) say "unknown option $1; there are --out and --jobs"; exit 2 ;;
  esac
done

# The folder is replaced in the end, so it must be one that this script has made.
if [ -e "$out" ] && [ ! -e "$out/programs.tar.xz" ] && [ -n "$(ls -A "$out")" ]; then
  say "$out has other files in it, which would be removed: name a new or an empty folder"
  exit 2
fi

cd "$root"
mkdir -p build
launchers=()
command -v ccache >/dev/null && launchers=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
cmake --preset carry "${launchers[@]}" >"$root/build/carry.log" 2>&1 || { tail -n 20 "$root/build/carry.log" >&2; exit 1; }
grep -q '^LOCKSTEP_NCCL_LIBRARY:.*NOTFOUND' "$build/CMakeCache.txt" && die "NCCL is not installed here (or set NCCL_ROOT)"
cmake --build "$build" --target carried_programs --parallel "$jobs"

# The folder is made anew beside the old one, which stays if something fails. Programs linked statically hold the same
# kernels: packed together they need a fifth of the room.
new=$(mktemp -d "$out.XXXXXX")
pack=$new/pack
trap 'rm -rf "$new"' EXIT
mkdir -p "$pack"/{bin,tests,lib,data,include/device}
while read -r program; do
  case $program in */tests/*) folder=tests ;; *) folder=bin ;; esac
  # shellcheck disable=SC2016  # the loader expands it
  readelf -d "$program" | grep -q 'RPATH.*\[$ORIGIN/../lib\]' || die "$program does not look for libraries in ../lib"
  strip -o "$pack/$folder/$(basename "$program")" "$program"
done <"$build/carried_programs.txt"

# Libraries that every Linux has, and those that the machine's toolkit or wheels bring.
readonly theirs='^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libutil|libcuda|libcudart|libcublas|libcublasLt|libnccl|libnvrtc)[-.]'
toolkit=$(sed -n 's/^CUDAToolkit_LIBRARY_DIR:[A-Z]*=//p' "$build/CMakeCache.txt")
nccl=$(dirname "$(sed -n 's/^LOCKSTEP_NCCL_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")")
resolved=$(LD_LIBRARY_PATH=${toolkit:-/usr/local/cuda/lib64}:$nccl ldd "$pack"/bin/* "$pack"/tests/*)
missing=$(awk '/not found/ && !/libcuda\.so/' <<<"$resolved")
[ -z "$missing" ] || die "libraries that are not here either: $missing"
awk '$2 == "=>" && $3 ~ "^/" { print $1, $3 }' <<<"$resolved" | sort -u | while read -r name path; do
  [[ $name =~ $theirs ]] || strip -o "$pack/lib/$name" "$path"
done

cp -r tests/gpu_session/session.sh tests/gpu_session/session "$new/"
rm -rf "$new/session/__pycache__"
cp tests/bench/peers/torch_gpt.py tests/bench/peers/torch_operations.py "$new/session/"
cp -r tests/gpu/emulator/planted "$pack/"
rm "$pack/planted/CMakeLists.txt" "$pack"/planted/*.cpp
cp common/gpu/device/tensor_core.hpp "$pack/include/device/"  # which planted programs include
cp common/train/data/course_text_v2.txt common/train/data/course_text_v2.txt.sha256 "$pack/data/"
cp tests/train/nn/pytorch_llama.json "$pack/data/"
cp "$build/gpu_tests.txt" "$pack/"
changes=$(git status --porcelain 2>/dev/null | head -n 1)
echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)${changes:+ with changes}, built $(date -u +%Y-%m-%dT%H:%MZ) for sm_90 and x86-64-v3" >"$pack/CARRIED"
tar -C "$pack" --sort=name --owner=0 --group=0 -cf - . | xz -T1 --lzma2=preset=1,dict=192MiB >"$new/programs.tar.xz"
rm -rf "$pack"

mib=$(du -sm --apparent-size "$new" | cut -f 1)
[ "$mib" -le "$limit_mib" ] || die "the folder has $mib MiB; $limit_mib are allowed"
chmod 755 "$new"
rm -rf "$out"
mv "$new" "$out"
trap - EXIT
say "$out has $mib MiB; on the machine with the GPU: $(basename "$out")/session.sh A"
