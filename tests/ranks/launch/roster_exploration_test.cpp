// Every order of messages between hosts and their hub, with a few faults: all of them are tried.
//
// A world is a roster, the launchers of its hosts as far as the roster can tell, and the messages that are on their
// way. An event is one thing that can happen next. From each world that has not been seen before, all events are tried.
// Whatever happens, the roster must keep its promises: every generation has all of its ranks, each once; the job ends,
// in one way, and after all of its ranks; and all hosts that are left hear of it.
#include <cstdlib>
#include <iostream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "launch/roster_world.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::launch::explore;

namespace {

struct Found {
  std::size_t states = 0;
  std::size_t ends = 0;
  std::string complaint;  // with the events that lead there; empty: none
};

/// Depth first, so that only the worlds of one path are kept.
class Exploration {
 public:
  Found run(const Job& job) {
    visit(World(job), job.faults);
    return found_;
  }

 private:
  void visit(World world, int faults_left) {
    if (!found_.complaint.empty() || !seen_.insert(concat(faults_left, "\n", world.state())).second) return;
    ++found_.states;
    const std::vector<Event> events = world.events(faults_left);
    if (events.empty()) {
      ++found_.ends;
      note(World(world).check_end());
    }
    for (const Event event : events) {
      path_.push_back(event);
      World next = world;
      note(next.apply(event));
      visit(std::move(next), faults_left - (is_fault(event.kind) ? 1 : 0));
      path_.pop_back();
    }
  }

  void note(const std::string& complaint) {
    if (complaint.empty() || !found_.complaint.empty()) return;
    found_.complaint = complaint + ", after";
    for (const Event event : path_) found_.complaint += concat(" ", static_cast<int>(event.kind), ":", event.whom);
  }

  std::unordered_set<std::string> seen_;
  std::vector<Event> path_;
  Found found_;
};

}  // namespace

TEST_CASE("no order of messages and faults leaves a job stuck, ends it in two ways, or forgets a rank",
          "[launch][07]") {
  const char* more = std::getenv("LOCKSTEP_ROSTER_FAULTS");  // 2 takes some minutes
  const int faults = more == nullptr ? 1 : std::atoi(more);
  for (const Job& job :
       {Job{"two hosts, one restart", 2, 2, 1, 2}, Job{"one or two hosts, one restart", 1, 2, 1, 2},
        Job{"three hosts, no restart", 3, 3, 0, faults}, Job{"three hosts, one restart", 3, 3, 1, faults},
        Job{"two or three hosts, one restart", 2, 3, 1, faults}}) {
    const Found found = Exploration().run(job);
    std::cout << job.name << ", faults: " << job.faults << "; states: " << found.states << ", ends: " << found.ends
              << "\n";
    CHECK(found.complaint == "");
  }
}
