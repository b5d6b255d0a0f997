#include "store/store.hpp"

#include "base/error.hpp"

namespace lockstep::store {

void Store::wait(std::span<const std::string> keys, const Deadline& deadline) {
  std::string missing;
  for (const std::string& key : keys) {
    try {
      (void)get(key, deadline);
    } catch (const TimeoutError&) {
      missing += (missing.empty() ? "" : ", ") + key;
    }
  }
  if (missing.empty()) return;
  throw TimeoutError(concat("store: nobody set ", missing, " within ", format_seconds(deadline.waited())));
}

}  // namespace lockstep::store
