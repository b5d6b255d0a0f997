#include "07_launch_and_survive/4_join/join.hpp"

namespace lockstep::elastic {

std::string key_of(const Member& member, const std::string& name) {
  // TODO(07.4): make a key that no other generation uses
  lockstep::todo("07.4 key_of");
}

void join(KeyValueStore& store, const Member& member) {
  // TODO(07.4): refuse who does not belong here, count who does, and wait for the last one
  lockstep::todo("07.4 join");
}

std::vector<int> missing_ranks(KeyValueStore& store, const Member& member) {
  // TODO(07.4): ask for each rank
  lockstep::todo("07.4 missing_ranks");
}

}  // namespace lockstep::elastic
