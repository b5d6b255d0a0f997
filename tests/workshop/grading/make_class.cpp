// make_class FOLDER [RELEASE]: writes the synthetic class for trying out grading; then
//   ./lockstep grade FOLDER --only 02.1 --out RESULTS
#include <iostream>

#include "base/command_line.hpp"
#include "grading/manifest.hpp"
#include "synthetic_class.hpp"

int main(int argc, char** argv) {
  using namespace lockstep;
  std::filesystem::path folder;
  CommandLine app("Writes a class of submissions, right, wrong and hostile ones.");
  app.add_option("folder", folder, "Where to").required();
  return run_main(app, argc, argv, [&] {
    const std::filesystem::path root = LOCKSTEP_PROJECT_ROOT;
    const auto expected = grading::make_class(root, folder, grading::release_of(root).tag, grading::ClassSize::kAll);
    std::cout << expected.size() << " submissions in " << folder.string() << "\n";
    return 0;
  });
}
