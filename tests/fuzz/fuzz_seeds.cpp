// fuzz_seeds FOLDER: writes each target's seeds to FOLDER/<target>/seed_N, where libFuzzer begins.
#include <filesystem>
#include <iostream>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "fuzz/targets.hpp"
#include "net/bytes.hpp"

int main(int argc, char** argv) {
  using namespace lockstep;
  return run_guarded("fuzz_seeds", [&] {
    if (argc != 2) throw UsageError("which folder? fuzz_seeds tests/fuzz/corpus");
    for (const fuzz::Target& target : fuzz::targets()) {
      const std::filesystem::path folder = std::filesystem::path(argv[1]) / target.name;
      std::filesystem::create_directories(folder);
      int number = 0;
      for (const std::vector<std::byte>& seed : target.seeds()) {
        write_file(folder / concat("seed_", number++), net::to_text(seed));
      }
    }
    return 0;
  });
}
