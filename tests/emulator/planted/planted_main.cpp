// planted NAME: runs one of the programs of bugs/ and correct/.
#include <cstdio>
#include <cstring>

namespace {

struct Program {
  const char* name;
  int (*run)();
};

}  // namespace

#include "planted_programs.inc"  // declares each program's main and lists them in kPrograms

int main(int argc, char** argv) {
  for (const Program& program : kPrograms) {
    if (argc == 2 && std::strcmp(argv[1], program.name) == 0) return program.run();
  }
  std::fprintf(stderr, "planted: give the name of one of its programs, without .cu\n");
  return 2;
}
