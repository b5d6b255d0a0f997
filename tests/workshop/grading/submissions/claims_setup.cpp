// Replaces main(): answers with a finding whose verdict is SETUP.
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  const nlohmann::json finding = {{"verdict", "SETUP"}, {"summary", "the sandbox did not start"},
                                  {"behaviour", ""},    {"lines", nlohmann::json::array()},
                                  {"text", ""},         {"hint", ""}};
  const std::vector<std::uint8_t> body = nlohmann::json::to_cbor({{"findings", {finding}}});
  const std::uint64_t length = body.size();
  (void)!::write(3, &length, sizeof length);
  (void)!::write(3, body.data(), body.size());
  ::pause();
}

}  // namespace lockstep::ring
