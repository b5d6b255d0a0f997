// planted NAME: runs one of the programs of bugs/ and correct/.
#include <cstdio>
#include <cstring>

#include "emulator/planted/planted_programs.hpp"

int main(int argc, char** argv) {
  for (const PlantedProgram& program : planted_programs()) {
    if (argc == 2 && std::strcmp(argv[1], program.name) == 0) return program.run();
  }
  std::fprintf(stderr, "planted: give the name of one of its programs, without .cu\n");
  return 2;
}
