// launch_helper WORLD_SIZE TASK [ARGUMENTS]: starts its own ranks with launch::spawn(); each carries out the task.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "launch/spawn.hpp"

namespace {

using Arguments = std::vector<std::string>;

int rank() { return std::stoi(std::getenv("RANK")); }

int sleep_for_ever() {
  while (true) pause();
}

// "end RANK CODE": that rank prints and ends; the others wait.
int end_one(const Arguments& arguments) {
  if (rank() != std::stoi(arguments.at(0))) return sleep_for_ever();
  std::cerr << "cannot go on\nbecause of " << arguments.at(1) << std::endl;
  return std::stoi(arguments.at(1));
}

// "raise RANK SIGNAL": that rank ends by a signal; the others wait.
int raise_one(const Arguments& arguments) {
  if (rank() != std::stoi(arguments.at(0))) return sleep_for_ever();
  std::cout << "working" << std::endl;
  const int number = std::stoi(arguments.at(1));
  std::signal(number, SIG_DFL);  // sanitizers handle some signals themselves
  std::raise(number);
  return 0;
}

// "late RANK": that rank is killed a little after the others have ended with an error, as when its end takes long.
int killed_late(const Arguments& arguments) {
  if (rank() != std::stoi(arguments.at(0))) return 1;
  usleep(300'000);
  std::raise(SIGKILL);
  return 0;
}

// "print": whole lines on both streams, then half a line.
int print(const Arguments&) {
  std::cout << "out of " << rank() << "\nsecond" << std::endl;
  std::cerr << "err of " << rank() << std::endl;
  std::cout << "no end";
  return 0;
}

// "variables NAME...": prints "NAME=value" for each.
int variables(const Arguments& arguments) {
  for (const std::string& name : arguments) {
    const char* value = std::getenv(name.c_str());
    std::cout << name << "=" << (value == nullptr ? "(unset)" : value) << "\n";
  }
  return 0;
}

// "stubborn": ignores SIGTERM.
int stubborn(const Arguments&) {
  signal(SIGTERM, SIG_IGN);
  std::cout << "ready" << std::endl;
  return sleep_for_ever();
}

void start_background_process() {
  const pid_t child = fork();
  if (child != 0) return;
  setsid();  // leaves the rank's process group and outlives it
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  if (fork() != 0) sleep_for_ever();
  sleep_for_ever();
}

// "family [end]": starts processes of its own that try to stay; then waits, or ends.
int family(const Arguments& arguments) {
  start_background_process();
  std::cout << "ready" << std::endl;
  return arguments.empty() ? sleep_for_ever() : 0;
}

// "shell": a script with a process of its own, and one that nobody but the script's subshell knows.
int shell(const Arguments&) {
  execlp("sh", "sh", "-c", "sleep 1000 & (setsid sleep 1000 &); echo ready; wait", nullptr);
  return 127;
}

// "execute PROGRAM ARGUMENTS...": becomes that program.
int execute(const Arguments& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return 127;
}

// "unkillable": in a file of root's with the set-user-id bit, a process that its starter may not signal.
int unkillable(const Arguments&) {
  if (setresuid(0, 0, 0) != 0) return 1;
  std::cout << "ready" << std::endl;
  return sleep_for_ever();
}

volatile std::sig_atomic_t terminations = 0;

// "orderly MILLISECONDS [nohup]": takes that long to end well after the first SIGTERM, and says how many came.
int orderly(const Arguments& arguments) {
  if (arguments.size() > 1) std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGTERM, [](int) { terminations = terminations + 1; });
  std::cout << "ready" << std::endl;
  while (terminations == 0) usleep(1000);
  for (int waited = 0; waited < std::stoi(arguments.at(0)); ++waited) usleep(1000);
  std::cout << "ended after SIGTERM x " << terminations << std::endl;
  return 0;
}

// "chatter KIBIBYTES": rank 0 writes that much to standard output and says so on standard error.
int chatter(const Arguments& arguments) {
  if (rank() != 0) return sleep_for_ever();
  const std::string line(1023, '.');
  for (int i = 0; i < std::stoi(arguments.at(0)); ++i) std::cout << line << "\n";
  std::cout << std::flush;
  std::cerr << "wrote all" << std::endl;
  return sleep_for_ever();
}

const std::map<std::string, int (*)(const Arguments&)> kTasks = {
    {"end", end_one},         {"raise", raise_one},   {"late", killed_late}, {"print", print},
    {"variables", variables}, {"stubborn", stubborn}, {"family", family},    {"shell", shell},
    {"execute", execute},     {"orderly", orderly},   {"chatter", chatter},  {"unkillable", unkillable},
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argv + 3, argv + argc);
  return lockstep::launch::spawn([&] { return kTasks.at(argv[2])(arguments); }, std::stoi(argv[1]));
}
