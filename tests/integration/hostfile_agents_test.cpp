// `lockstep launch --hostfile` with a script in place of ssh: spares, hosts that are missing, signals.
// (hostfile_test.sh does the rest with a real ssh.)
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/processes.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using test::Finished;
using test::Subprocess;

namespace {

namespace fs = std::filesystem;

/// A list of hosts, which are all this one, and an ssh that starts programs here: but on 127.0.0.9, which is down, and
/// on 127.0.0.8, where they are not installed.
class Cluster {
 public:
  Cluster() {
    write_file(
        folder_ / "ssh",
        "#!/bin/sh\n"
        "host=none\n"
        "for word; do case $word in 127.*) host=$word ;; esac; done\n"
        "[ $host != 127.0.0.9 ] || { echo 'ssh: connect to host 127.0.0.9 port 22: No route to host' >&2; exit 255; }\n"
        "[ $host != 127.0.0.8 ] || { echo 'sh: lockstep: not found' >&2; exit 127; }\n"
        "echo \"Welcome to $host\"\n"  // as a login shell may
        "exec sh -c \"$word\"\n");
    fs::permissions(folder_ / "ssh", fs::perms::owner_all);
  }

  [[nodiscard]] fs::path folder() const { return folder_.path(); }

  /// Starts a shell's script as each rank, one on each host.
  [[nodiscard]] std::unique_ptr<Subprocess> start(const std::vector<std::string>& hosts,
                                                  std::vector<std::string> options, const std::string& script) const {
    std::string list;
    for (const std::string& host : hosts) list += host + "\n";
    write_file(folder_ / "hosts", list);
    std::vector<std::string> command{test::built_program("lockstep"), "launch",  "--hostfile",
                                     (folder_ / "hosts").string(),    "--nproc", "1"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", "sh", "-c", script, folder_.path().string()});
    const std::vector<std::pair<std::string, std::string>> variables{{"LOCKSTEP_SSH", (folder_ / "ssh").string()},
                                                                     {"LOCKSTEP_GRACE_SECONDS", "5"}};
    return std::make_unique<Subprocess>(command, variables);
  }

 private:
  test::TemporaryFolder folder_;
};

const std::string kUnreachable = "host 127.0.0.9 (";
const std::string kWho = "echo \"rank $RANK of $WORLD_SIZE, start $TORCHELASTIC_RESTART_COUNT\"; ";

}  // namespace

TEST_CASE("a spare of the list takes the place of a host that is lost, and ranks follow the list",
          "[integration][07]") {
  const Cluster cluster;
  // Rank 1 kills its host's agent once: the reaper is its parent, and the guardian that one's.
  const std::string script = kWho +
                             "if [ $RANK = 1 ] && mkdir \"$0/done\" 2>/dev/null; then "
                             "parent() { sed 's/.*) . //; s/ .*//' /proc/$1/stat; }; "
                             "sleep 1; kill -9 $(parent $(parent $PPID)); sleep 60; fi";
  const auto job =
      cluster.start({"127.0.0.2", "127.0.0.3", "127.0.0.4"}, {"--nnodes", "2", "--max-restarts", "1"}, script);
  const Finished finished = job->wait();
  CAPTURE(finished.out, finished.err);
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.err, ContainsSubstring("lockstep on 127.0.0.3: generation 0: node rank 1 of 2"));
  CHECK_THAT(finished.err, ContainsSubstring("lockstep on 127.0.0.4: generation 1: node rank 1 of 2") ||
                               ContainsSubstring("lockstep on 127.0.0.3: generation 1: node rank 1 of 2"));
  CHECK_THAT(finished.err, ContainsSubstring("restart 1 of 1"));
  for (const char* const rank : {"0", "1"})
    CHECK_THAT(finished.out, ContainsSubstring(concat("[rank ", rank, "] rank ", rank, " of 2, start 1")));
}

TEST_CASE("a job that may run on fewer hosts does without one that cannot be reached", "[integration][07]") {
  const Cluster cluster;
  const auto job = cluster.start({"127.0.0.2", "127.0.0.9", "127.0.0.4"},
                                 {"--nnodes", "2:3", "--rdzv-conf", "last_call_timeout=1"}, kWho);
  const Finished finished = job->wait();
  CAPTURE(finished.out, finished.err);
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.err, ContainsSubstring(kUnreachable) && ContainsSubstring("it is tried again"));
  CHECK_THAT(finished.out, ContainsSubstring("rank 0 of 2") && ContainsSubstring("rank 1 of 2"));
}

TEST_CASE("a host without which there is no job ends it before it begins, with one message", "[integration][07]") {
  const Cluster cluster;
  const std::string missing = GENERATE("127.0.0.9", "127.0.0.8");
  const bool is_first = GENERATE(false, true);
  const auto job = is_first
                       ? cluster.start({missing, "127.0.0.2"}, {}, "sleep 100")
                       : cluster.start({"# a comment", "127.0.0.2", missing}, {"--max-restarts", "3"}, "sleep 100");
  const Finished finished = job->wait();
  CAPTURE(missing, finished.out, finished.err);
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.err, ContainsSubstring(concat("host ", missing, " (", (cluster.folder() / "hosts").string(),
                                                    is_first ? ":1) " : ":3) ")));
  CHECK_THAT(finished.err,
             ContainsSubstring(missing == "127.0.0.9" ? "cannot be reached: ssh: connect to host 127.0.0.9 port 22: No "
                                                        "route to host; is the host up"
                                                      : "lockstep cannot be run there: sh: lockstep: not found; the "
                                                        "programs must be at the same path on all hosts"));
  CHECK(std::ranges::count(finished.err, '\n') == 1);
}

TEST_CASE("SIGTERM to the launcher has all ranks save, and all hosts end", "[integration][07]") {
  const Cluster cluster;
  const auto job = cluster.start({"127.0.0.2", "127.0.0.3"}, {},
                                 "trap 'exit 75' TERM; echo \"ready $RANK\"; while :; do sleep 0.05; done");
  for (const char* const rank : {"ready 0", "ready 1"}) REQUIRE(job->wait_for_output(rank));
  const std::vector<pid_t> family = descendants_of(job->pid());
  CHECK(family.size() >= 8);  // on each host an ssh or the agent that it has become, two watchers, and a rank
  job->send_signal(SIGTERM);
  const Finished finished = job->wait();
  CAPTURE(finished.err);
  CHECK(finished.exit_code == 75);
  CHECK(test::wait_until_gone(family).empty());
}

TEST_CASE("what does not fit to a list of hosts is refused", "[integration][07]") {
  const Cluster cluster;
  const auto [host, options, message] = GENERATE(table<std::string, std::vector<std::string>, std::string>({
      {"127.0.0.2", {"--nnodes", "2"}, "lists only 1 host"},
      {"127.0.0.2", {"--node-rank", "0"}, "the file's order counts"},
      {"127.0.0.2 slots=1", {"--nproc", "2"}, ":1: 127.0.0.2 has slots=1, but --nproc 2 asks for more on each host"},
      {"127.0.0.2", {"--env", "LOCKSTEP_NOT_SET_HERE"}, "--env LOCKSTEP_NOT_SET_HERE: not set here"},
      {"127.0.0.2", {"--ssh-options", "-i 'key"}, "lacks its partner"},
      {"localhost\n10.0.0.7", {}, ":1: the other hosts cannot reach this one as localhost"},
      {"node1:4", {}, ":1: 'node1:4': write node1 slots=4"},
  }));
  const Finished finished = cluster.start({host}, options, "true")->wait();
  CAPTURE(finished.out);
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.err, ContainsSubstring(message));
}
