#include <algorithm>
#include <iostream>

#include "launch/cores.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {

int test(const Arguments& arguments) {
  if (!arguments.empty() && (arguments.front() == "--help" || arguments.front() == "-h")) {
    std::cout << as_typed(
        "Usage: ./lockstep test [module or chapter] [-- ctest options]\n\n"
        "Builds and runs all tests, or those with one label:\n"
        "  ./lockstep test launch          the tests of common/ranks/launch\n"
        "  ./lockstep test -- -R reaper    those whose name matches\n");
    return 0;
  }
  const Project project = find_project();
  std::vector<std::string> command = {"ctest",
                                      "--test-dir",
                                      project.build.string(),
                                      "--output-on-failure",
                                      "--no-tests=error",
                                      "--parallel",
                                      std::to_string(launch::usable_cores().logical)};
  for (const std::string& argument : arguments) {
    if (argument == "--") continue;
    const bool is_label = &argument == &arguments.front() && argument.rfind('-', 0) != 0;
    if (is_label)
      command.insert(command.end(), {"--label-regex", "^" + argument + "$"});
    else
      command.push_back(argument);
  }
  become(command);
}

}  // namespace lockstep::tool
