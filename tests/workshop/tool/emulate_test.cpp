#include <filesystem>
#include <string>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using lockstep::write_file;
using lockstep::test::built_program;
using lockstep::test::Finished;

namespace {

// Runs `lockstep emulate` in `folder`, like a learner.
Finished emulate(const fs::path& folder, const std::string& arguments) {
  const std::string line =
      "cd '" + folder.string() + "' && exec '" + built_program("lockstep") + "' emulate " + arguments;
  return lockstep::test::run_program({"sh", "-c", line}, {{"LOCKSTEP_ROOT", LOCKSTEP_SOURCE_DIR}});
}

// Its kernel uses no device memory, so that this test needs only launches.
const std::string kSource = R"(#include <cstdio>

__device__ int places[4];

template <typename T>
__global__ void reverse(T factor) {
  extern __shared__ T tile[];
  tile[threadIdx.x] = threadIdx.x * factor;
  __syncthreads();
  places[threadIdx.x] = tile[3 - threadIdx.x];
}

int main(int argc, char** argv) {
  reverse<int><<<1, 4, 4 * sizeof(int)>>>(argc);
  cudaDeviceSynchronize();
  int result[4];
  cudaMemcpyFromSymbol(result, places, sizeof(result));
  std::printf("%d %d %s\n", result[0], result[3], argv[argc - 1]);
}
)";

}  // namespace

TEST_CASE("emulate runs a CUDA file from any folder, and hands arguments on", "[tool][emulator]") {
  const lockstep::test::TemporaryFolder folder;
  const fs::path place = folder.path() / "my kernels";
  fs::create_directories(place);
  write_file(place / "first one.cu", kSource);
  const Finished finished = emulate(place, "'first one.cu' -- a 'b c'");
  CHECK(finished.err.empty());
  CHECK(finished.out == "9 0 b c\n");
  CHECK(finished.exit_code == 0);
  CHECK(emulate(folder.path(), "'my kernels/first one.cu'").exit_code == 0);
}

TEST_CASE("emulate runs a program that has no kernel", "[tool][emulator]") {
  const lockstep::test::TemporaryFolder folder;
  write_file(folder / "query.cu", R"(#include <cstdio>
int main() {
  int count = 0;
  cudaGetDeviceCount(&count);
  std::printf("%d device\n", count);
}
)");
  const Finished finished = emulate(folder.path(), "query.cu");
  CHECK(finished.err.empty());
  CHECK(finished.out == "1 device\n");
}

TEST_CASE("a compiler's error names the learner's file and line", "[tool][emulator]") {
  const lockstep::test::TemporaryFolder folder;
  write_file(folder / "wrong.cu", "__global__ void k(int* x) {}\n\nint main() {\n  k<<<1, 2>>>(nothing);\n}\n");
  const Finished finished = emulate(folder.path(), "wrong.cu");
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.err, ContainsSubstring("wrong.cu:4:"));
  CHECK_THAT(finished.err, ContainsSubstring("nothing"));
}

TEST_CASE("emulate says what a file lacks, or uses that the emulator lacks", "[tool][emulator]") {
  const lockstep::test::TemporaryFolder folder;
  write_file(folder / "no_main.cu", "__global__ void k() {}\n");
  write_file(folder / "ptx.cu", "__global__ void k() {\n  asm(\"exit;\");\n}\nint main() {}\n");
  write_file(folder / "half.cu", "__global__ void k() {}\nint main() {\n  k<<<1, 2;\n}\n");
  struct Case {
    std::string arguments;
    std::string message;
  };
  for (const Case& wrong :
       {Case{"no_mian.cu", "there is no file no_mian.cu; did you mean no_main.cu?"}, Case{".", "is a folder"},
        Case{"no_main.cu", "no_main.cu has no main()"},
        Case{"ptx.cu", "ptx.cu:2:3: error: the emulator has no inline PTX"},
        Case{"half.cu", "half.cu:3:4: error: this <<< has no >>>"}, Case{"--devices 9 ptx.cu", "--devices"}}) {
    const Finished finished = emulate(folder.path(), wrong.arguments);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring(wrong.message));
  }
}
