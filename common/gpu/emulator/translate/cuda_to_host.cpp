// cuda_to_host INPUT OUTPUT [--depfile FILE] [--name NAME]: translates a CUDA source to C++ for a host compiler, for
// the build. Learners use `lockstep emulate`, which also compiles and runs the result.
#include <iostream>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "emulator/translate/source_tree.hpp"

int main(int argc, char** argv) {
  using namespace lockstep;
  std::string input, output, depfile, name;
  CommandLine app("Translates CUDA's own syntax (kernel<<<...>>>(...), extern __shared__) to C++ for the emulator",
                  "cuda_to_host");
  app.add_option("input", input, "A CUDA source").required();
  app.add_option("output", output, "The C++ to write").required();
  app.add_option("--depfile", depfile, "Write which files the output depends on, as a Makefile rule");
  app.add_option("--name", name, "How messages name the input; its path if left out");
  if (const auto done = app.parse(argc, argv)) return *done;
  try {
    const auto tree = translate::translate_tree(input, output, name.empty() ? input : name);
    if (!depfile.empty()) write_file(depfile, translate::dependency_rule(output, tree.inputs));
  } catch (const FormatError& error) {
    std::cerr << error.what() << "\n";  // begins with file:line:column, as a compiler's message does
    return 1;
  } catch (const Error& error) {
    std::cerr << "cuda_to_host: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
