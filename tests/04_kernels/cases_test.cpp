// The chapter's cases: each one's symptom shows, and the right program has none.
// SPOILERS: this file says what is wrong in them.
#include <filesystem>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

/// A project of links, so that what a command writes stays out of the source tree.
struct ProjectCopy {
  ProjectCopy() {
    for (const char* name : {"chapters", "common", "exercises", "CMakePresets.json"})
      fs::create_symlink(fs::path(LOCKSTEP_PROJECT_ROOT) / name, folder / name);
  }
  [[nodiscard]] test::Finished run(std::vector<std::string> command) const {
    command.front() = test::built_program(command.front());
    return test::run_program(command, {{"LOCKSTEP_ROOT", folder.path().string()}});
  }
  test::TemporaryFolder folder;
};

struct Symptom {
  std::string id;
  std::vector<std::string> texts;  // in what the case shows
};

}  // namespace

TEST_CASE("the cases of chapter 04 show their symptoms", "[kernels][chapter][case]") {
  const std::vector<Symptom> symptoms = {
      {"04.A", {"uninitialised read in kernel sum_of at case_04_a.cu:15, seen 24 times", "(exit status 86)"}},
      {"04.B", {"case_04_b.cu:17      shared load     80 requests of 24.00 passes (ideal 1.00)"}},
      {"04.C", {"race in kernel product at case_04_c.cu:14 and case_04_c.cu:20", "(exit status 86)"}},
      {"04.D", {"case_04_d.cu:17      global store    96 requests of 20.00 sectors"}},
      {"04.E", {"access out of bounds in kernel transpose at case_04_e.cu:17", "(exit status 86)"}},
      {"04.F", {"race in kernel transpose at case_04_f.cu:17 and case_04_f.cu:12", "(exit status 86)"}},
  };
  const ProjectCopy project;
  for (const Symptom& symptom : symptoms) {
    const test::Finished shown = project.run({"lockstep_exercises", "case", symptom.id});
    INFO(symptom.id << "\n" << shown.out << shown.err);
    CHECK(shown.exit_code == 0);
    for (const std::string& text : symptom.texts) CHECK_THAT(shown.out + shown.err, ContainsSubstring(text));
  }
}

TEST_CASE("threadIdx and its relatives are no memory to a kernel", "[kernels][emulate]") {
  const ProjectCopy project;
  const std::string source = (project.folder / "indices.cu").string();
  write_file(source, R"(#include <cuda_runtime.h>
__global__ void indices(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = gridDim.x; }
int main() {
  int* out = nullptr;
  cudaMalloc(&out, 128 * sizeof(int));
  indices<<<2, 64>>>(out);
  return cudaFree(out) == cudaSuccess ? 0 : 1;
}
)");
  const test::Finished counted = project.run({"lockstep", "emulate", "--metrics", source});
  INFO(counted.out << counted.err);
  CHECK(counted.exit_code == 0);
  CHECK_THAT(counted.out + counted.err, ContainsSubstring("global store     4 requests of "));
  CHECK_THAT(counted.out + counted.err, !ContainsSubstring("load"));
}

TEST_CASE("the right programs of chapter 04's cases have no findings and no needless passes",
          "[kernels][chapter][case]") {
  const ProjectCopy project;
  for (const std::string name : {"count_even", "product", "sum", "transpose"}) {
    const std::string source = (project.folder / concat("chapters/04_kernels/cases/", name, ".cu")).string();
    const test::Finished checked = project.run({"lockstep", "emulate", "--metrics", source});
    INFO(name << "\n" << checked.out << checked.err);
    CHECK(checked.exit_code == 0);
    CHECK_THAT(checked.err, !ContainsSubstring("finding"));
    if (name == "transpose") CHECK_THAT(checked.err, ContainsSubstring("80 requests of 1.00 passes (ideal 1.00)"));
  }
}
