// course_programs [NAME]: runs all programs, or the one of that name. Prints the wrong ones.
#include <cstdio>
#include <cstring>
#include <vector>

namespace courses {

struct Program {
  const char* name;
  bool (*run)();
};

std::vector<Program>& programs() {
  static std::vector<Program> all;
  return all;
}

}  // namespace courses

int main(int argc, char** argv) {
  int ran = 0, wrong = 0;
  for (const courses::Program& program : courses::programs()) {
    if (argc > 1 ? std::strcmp(argv[1], program.name) != 0 : std::strncmp(program.name, "fails_", 6) == 0) continue;
    ++ran;
    if (program.run()) continue;
    ++wrong;
    std::printf("wrong: %s\n", program.name);
  }
  std::printf("%d programs, %d wrong\n", ran, wrong);
  return ran == 0 || wrong > 0 ? 1 : 0;
}
