// lockstep doctor: a report without secrets, and a self-test that finds faults.
#include <unistd.h>

#include <string>
#include <vector>

#include "base/processes.hpp"
#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;
using test::built_program;
using test::Finished;

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

Finished doctor(std::vector<std::string> arguments, Variables variables = {}) {
  arguments.insert(arguments.begin(), {built_program("lockstep"), "doctor"});
  variables.emplace_back("LOCKSTEP_ROOT", LOCKSTEP_SOURCE_DIR);
  return test::run_program(arguments, variables);
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin + 1, end - begin);
}

}  // namespace

TEST_CASE("doctor reports what matters to training, and no secret", "[tool][doctor]") {
  const Finished finished = doctor({}, {{"LOCKSTEP_TOKEN", "secret-token"},
                                        {"MASTER_ADDR", "secret.example.org"},
                                        {"OMP_NUM_THREADS", "3"},
                                        {"UNRELATED", "secret-variable"}});
  INFO(finished.err);
  CHECK(finished.exit_code == 0);
  for (const char* line : {"system  ", "processor  ", "vector units  ", "cores  ", "memory  ", "control group  ",
                           "shared memory  ", "driver  ", "NCCL  ", "interfaces  ", "host name  ", "open files  ",
                           "locked memory  ", "compiler  ", "backends  ", "transports  ", "configuration  "}) {
    CHECK_THAT(finished.out, ContainsSubstring("\n  " + std::string(line)));
  }
  CHECK_THAT(finished.out,
             ContainsSubstring("OMP_NUM_THREADS     3") && ContainsSubstring("LOCKSTEP_TOKEN      is set"));
  CHECK_THAT(finished.out, !ContainsSubstring("secret"));
}

TEST_CASE("doctor --test trains over every transport and says in its last line that it works",
          "[tool][doctor][multirank]") {
  const Finished finished = doctor({"--test", "--num-processes", "2"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  for (const char* title : {"star, TCP", "ring, TCP", "shared memory"})
    CHECK_THAT(finished.out, ContainsSubstring("\n" + std::string(title)));
  CHECK_THAT(last_line(finished.out), ContainsSubstring("This machine can train: 2 ranks give the losses of one"));
  CHECK_THAT(finished.out, !ContainsSubstring("FAILS"));
  CHECK(finished.err.empty());
}

TEST_CASE("doctor --test names what fails, and leaves nothing running", "[tool][doctor][multirank][fault]") {
  // A variable that ranks read at their start is invalid, so that every job fails.
  const std::string mark = concat("LOCKSTEP_TEST_MARK=doctor_", getpid());
  const Finished finished =
      doctor({"--test"}, {{"LOCKSTEP_LIVENESS_SECONDS", "never"}, {"LOCKSTEP_TEST_MARK", concat("doctor_", getpid())}});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.out, ContainsSubstring("ring, TCP: [rank ") && ContainsSubstring("LOCKSTEP_LIVENESS_SECONDS"));
  CHECK(processes_with(mark).empty());
  CHECK(last_line(finished.out) == "This machine cannot train as it is: see the lines above.");
}

TEST_CASE("doctor --test does not call a machine broken that is only slow", "[tool][doctor][multirank]") {
  // Too short for any process to start and train, as on a machine a thousand times slower.
  const Finished finished = doctor({"--test", "--limit", "0.02"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.out,
             ContainsSubstring("ring, TCP") && ContainsSubstring("slow") && ContainsSubstring("nothing seems broken"));
  CHECK_THAT(finished.out, !ContainsSubstring("firewall") && !ContainsSubstring("FAILS"));
  CHECK_THAT(last_line(finished.out), ContainsSubstring("too slow, or too busy, to tell") &&
                                          ContainsSubstring("./lockstep doctor --test --limit"));
  // The same after the job has started: its ranks report that they are unfinished.
  const std::string program = built_program("self_test");
  const Finished job =
      test::run_program({built_program("lockstep"), "launch", "--nproc", "2", "--", program, "--limit", "0.001"});
  INFO(job.out << job.err);
  CHECK(job.exit_code == 124);
  CHECK_THAT(job.out + job.err, ContainsSubstring("not finished after"));
}

TEST_CASE("doctor --test in the ranks of a job tests between them", "[tool][doctor][multirank]") {
  const std::string program = built_program("lockstep");
  const Finished finished = test::run_program({program, "launch", "--nproc", "3", "--", program, "doctor", "--test"},
                                              {{"LOCKSTEP_ROOT", LOCKSTEP_SOURCE_DIR}});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("[rank 0] star: 3 ranks on 1 host;") &&
                               ContainsSubstring("[rank 0] ring: 3 ranks on 1 host;") &&
                               ContainsSubstring("[rank 0] These 3 ranks can train"));
  CHECK_THAT(finished.out, ContainsSubstring("[rank 0]   processor") && !ContainsSubstring("[rank 1]   processor"));
}

TEST_CASE("doctor refuses what it does not know", "[tool][doctor]") {
  CHECK(doctor({"--tset"}).exit_code == 2);
  const Finished ranks = doctor({"--test", "--num-processes", "many"});
  CHECK(ranks.exit_code == 2);
  CHECK(doctor({"--test", "--limit", "0"}).exit_code == 2);
  CHECK(doctor({"--test", "--limit", "1e30"}).exit_code == 2);
  CHECK_THAT(ranks.err, ContainsSubstring("--num-processes is many"));
}
