#include "exercise/alternatives.hpp"

#include <algorithm>
#include <vector>

#include "02_ring_all_reduce/2_all_gather/all_gather.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"rank_0_sends_first",
     "send() and receive() in turns instead of exchange(): rank 0 sends first, the others receive first"},
    {"follows_one_chunk",
     "no schedule: the chunk that has arrived is sent on, and its number is one less in each step"},
    {"through_a_copy", "chunks arrive in a buffer of their own, and are copied to their place"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ring {

using exercise::is_alternative;

void all_gather(std::span<float> values, const Neighbours& place) {
  const int ranks = place.world_size;
  const auto part = [&](int index) {
    const Chunk chunk = chunk_of(static_cast<std::int64_t>(values.size()), index, ranks);
    return values.subspan(static_cast<std::size_t>(chunk.begin), static_cast<std::size_t>(chunk.count));
  };
  int sent = place.rank + 1 == ranks ? 0 : place.rank + 1;
  for (int left = ranks - 1; left > 0; --left) {
    const int next = sent == 0 ? ranks - 1 : sent - 1;
    if (is_alternative("rank_0_sends_first")) {
      if (place.rank == 0) place.next.send(part(sent));
      place.previous.receive(part(next));
      if (place.rank != 0) place.next.send(part(sent));
    } else if (is_alternative("through_a_copy")) {
      std::vector<float> arrived(part(next).size());
      exchange(place.next, part(sent), place.previous, arrived);
      std::ranges::copy(arrived, part(next).begin());
    } else {
      exchange(place.next, part(sent), place.previous, part(next));
    }
    sent = next;
  }
}

}  // namespace lockstep::ring
