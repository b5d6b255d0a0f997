#include "emulator/translate/source_tree.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using lockstep::read_file;
using lockstep::write_file;
using lockstep::translate::dependency_rule;
using lockstep::translate::translate_tree;

TEST_CASE("headers with kernels are translated, others are found where they are", "[emulator]") {
  const lockstep::test::TemporaryFolder folder;
  const fs::path root = folder.path() / "a b";
  fs::create_directories(root / "sub");
  write_file(root / "k.cu",
             "#include \"sub/outer.cuh\"\n#include \"plain.h\"\n#include \"missing.h\"\nint main() {}\n");
  write_file(root / "sub" / "outer.cuh", "#include \"inner.cuh\"\n#include \"../plain.h\"\n");
  write_file(root / "sub" / "inner.cuh",
             "#pragma once\n#include \"outer.cuh\"\n__global__ void k() {}\nvoid f() { k<<<1, 2>>>(); }\n");
  write_file(root / "plain.h", "int plain;\n");
  const fs::path output = root / "out" / "k.cu.cpp";
  const auto tree = translate_tree(root / "k.cu", output, "k.cu");
  CHECK(tree.has_main);
  CHECK(tree.inputs.size() == 4);
  const std::string text = read_file(output);
  CHECK_THAT(text, ContainsSubstring("#line 1 \"k.cu\"\n#include \"" + output.string() + ".headers/"));
  CHECK_THAT(text, ContainsSubstring("#include \"" + (fs::canonical(root) / "plain.h").string() + "\"\n"));
  CHECK_THAT(text, ContainsSubstring("#include \"missing.h\"\n"));
  std::string headers;
  for (const auto& entry : fs::recursive_directory_iterator(output.string() + ".headers")) {
    if (entry.is_regular_file()) headers += read_file(entry.path());
  }
  CHECK_THAT(headers, ContainsSubstring("#line 1 \"sub/inner.cuh\"\n#pragma once\n"));
  CHECK_THAT(headers, ContainsSubstring("launch_function({__FILE__, __LINE__}, \"k\", k, 1, 2)()"));
}

TEST_CASE("a missing source is an error that names it", "[emulator]") {
  const lockstep::test::TemporaryFolder folder;
  CHECK_THROWS_AS(translate_tree(folder.path() / "none.cu", folder.path() / "out.cpp", "none.cu"), lockstep::IoError);
}

TEST_CASE("a dependency rule survives blanks in paths", "[emulator]") {
  CHECK(dependency_rule("a b.cpp", {"x y.cu", "$z#.h"}) == "a\\ b.cpp: \\\n  x\\ y.cu \\\n  $$z\\#.h\n");
}
