#pragma once
// The programs of bugs/ and correct/, each compiled in a namespace of its own.
#include <vector>

struct PlantedProgram {
  const char* name;  // of its source, without .cu
  int (*run)();      // its main()
};

// CMake writes the list.
const std::vector<PlantedProgram>& planted_programs();
